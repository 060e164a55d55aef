/** What has come of one answer to a request on a raw connection. */
export interface Answer {
  readonly status: number;
  /** Header lines without the status line. */
  readonly head: string;
  /** The first bytes of its body. */
  body: string;
}

/** Bytes of a body that are kept to be looked at. */
const keptBytes = 2_000;
/** No head of ours is as long. */
const longestHead = 16_384;

/** The value of a header, by its name in lower case. */
export const headerOf = ({ head }: Pick<Answer, 'head'>, name: string): string | undefined => {
  const at = `\r\n${head}`.toLowerCase().indexOf(`\r\n${name}:`);
  if (at < 0) return undefined;
  const end = head.indexOf('\r\n', at);
  return head.slice(at + name.length + 1, end < 0 ? undefined : end).trim();
};

type State = 'head' | 'length' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'broken';

/** Reads the answers of one connection in their order. */
export class AnswerReader {
  /** Called at the end of a head; says whether a body follows where the head alone does not tell. */
  private readonly begins: (answer: Answer) => { readonly isBodyless: boolean };
  private readonly ends: (answer: Answer) => void;
  private readonly fails: (what: string) => void;
  private state: State = 'head';
  private rest = '';
  private left = 0;
  private answer: Answer = { status: 0, head: '', body: '' };

  constructor(
    begins: (answer: Answer) => { readonly isBodyless: boolean },
    ends: (answer: Answer) => void,
    fails: (what: string) => void,
  ) {
    this.begins = begins;
    this.ends = ends;
    this.fails = fails;
  }

  /** Some of an answer has come, and its end has not. */
  get isWithin(): boolean {
    return this.rest !== '' || this.state !== 'head';
  }

  add(piece: Buffer): void {
    this.rest += piece.toString('latin1');
    while (this.step()) {}
  }

  private step(): boolean {
    switch (this.state) {
      case 'head':
        return this.readHead();
      case 'length':
      case 'chunk':
        return this.readBytes();
      case 'size':
        return this.readSize();
      case 'chunk-end':
        if (this.rest.length < 2) return false;
        return this.rest.startsWith('\r\n') ? this.go('size', 2) : this.fail('a chunk does not end with its size');
      case 'trailers':
        return this.readTrailers();
      default:
        this.keep(this.rest);
        this.rest = '';
        return false;
    }
  }

  private go(state: State, bytes: number): boolean {
    this.state = state;
    this.rest = this.rest.slice(bytes);
    return true;
  }

  private fail(what: string): boolean {
    this.fails(`${what}: ${JSON.stringify(this.rest.slice(0, 100))}`);
    this.state = 'broken';
    return false;
  }

  private keep(text: string): void {
    if (this.answer.body.length < keptBytes) this.answer.body += text.slice(0, keptBytes);
  }

  private over(): boolean {
    this.state = 'head';
    this.ends(this.answer);
    return this.rest !== '';
  }

  private readHead(): boolean {
    if (this.rest === '') return false;
    const end = this.rest.indexOf('\r\n\r\n');
    if (end < 0) return this.rest.length > longestHead && this.fail('this is no head of an answer');
    const lineEnd = this.rest.indexOf('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(this.rest)?.[1];
    if (status === undefined) return this.fail('this is no answer');
    const head = lineEnd === end ? '' : this.rest.slice(lineEnd + 2, end);
    this.answer = { status: Number(status), head, body: '' };
    this.rest = this.rest.slice(end + 4);
    const { isBodyless } = this.begins(this.answer);
    if (isBodyless || status === '204' || status === '304') return this.over();
    const length = headerOf(this.answer, 'content-length');
    if (length !== undefined) {
      this.left = Number(length);
      this.state = 'length';
      return true;
    }
    const isChunked = headerOf(this.answer, 'transfer-encoding') === 'chunked';
    this.state = isChunked ? 'size' : 'until-close';
    return true;
  }

  private readBytes(): boolean {
    const piece = this.rest.slice(0, this.left);
    this.keep(piece);
    this.left -= piece.length;
    this.rest = this.rest.slice(piece.length);
    if (this.left > 0) return false;
    if (this.state === 'length') return this.over();
    this.state = 'chunk-end';
    return true;
  }

  private readSize(): boolean {
    const end = this.rest.indexOf('\r\n');
    if (end < 0) return this.rest.length > 20 && this.fail('this is no size of a chunk');
    const size = this.rest.slice(0, end);
    if (!/^[0-9a-f]+$/i.test(size)) return this.fail('this is no size of a chunk');
    this.left = Number.parseInt(size, 16);
    return this.go(this.left === 0 ? 'trailers' : 'chunk', end + 2);
  }

  private readTrailers(): boolean {
    const end = this.rest.indexOf('\r\n');
    if (end < 0) return false;
    this.rest = this.rest.slice(end + 2);
    return end === 0 ? this.over() : true;
  }
}
