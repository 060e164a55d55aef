import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Random } from '../random.ts';
import { type Answer, AnswerReader, headerOf } from './answers.ts';
import type { Asked } from './pipelines.ts';

export interface Target {
  /** A TCP port of this machine, or the path of a socket. */
  readonly at: number | string;
  readonly isTls: boolean;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await turn();
};

/** Passes the bytes of a socket on: one that TLS has taken over cannot be reset. */
class Passing extends Duplex {
  private readonly raw: Socket;
  constructor(raw: Socket) {
    super();
    this.raw = raw;
    raw.on('data', (piece) => this.push(piece) || raw.pause());
    raw.on('end', () => this.push(null));
    raw.on('close', () => this.destroy());
  }
  override _read(): void {
    this.raw.resume();
  }
  override _write(piece: Buffer, _: string, done: () => void): void {
    this.raw.write(piece, () => done());
  }
  override _final(done: () => void): void {
    this.raw.end(done);
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.raw.destroy();
    done(error);
  }
}

/** What the answers of one connection show. */
class Judge {
  private readonly asked: readonly Asked[];
  private readonly complain: (what: string) => void;
  private readonly reader: AnswerReader;
  /** The request that is to be answered next. */
  private next = 0;
  private current: Asked | undefined;
  /** Why no other answer may come; undefined while one may. */
  private lastBy: string | undefined;
  private readonly isTorn: boolean;
  answers = 0;

  constructor(asked: readonly Asked[], complain: (what: string) => void) {
    this.asked = asked;
    this.isTorn = asked.some(({ isTorn }) => isTorn);
    this.complain = complain;
    this.reader = new AnswerReader(
      (answer) => this.begins(answer),
      (answer) => this.ends(answer),
      complain,
    );
  }

  private get isOver(): boolean {
    return this.lastBy !== undefined || this.next >= this.asked.length;
  }

  /** The request whose answer has not come to its end. */
  get awaited(): string | undefined {
    if (this.isOver && !this.reader.isWithin) return undefined;
    const at = this.reader.isWithin ? this.next - 1 : this.next;
    return `request ${at}, ${this.asked[at]?.name}`;
  }

  hear(piece: Buffer): void {
    this.reader.add(piece);
  }

  private begins(answer: Answer): { readonly isBodyless: boolean } {
    const { status } = answer;
    if (this.lastBy !== undefined) this.complain(`an answer ${status} came behind ${this.lastBy}`);
    this.lastBy = headerOf(answer, 'connection') === 'close' ? 'one that says close' : undefined;
    const wasTorn = this.next > 0 && this.asked[this.next - 1]!.isTorn;
    // The server's core refuses what it cannot read by a page of its own, before answers that it has not sent, and ends
    // the connection. That may also be a version of HTTP that comes in two segments.
    const isPage = [400, 431, 505].includes(status) && headerOf(answer, 'request-id') === undefined;
    if (isPage && (status === 505 || this.isTorn)) {
      this.lastBy = 'a page of the core';
      this.current = undefined;
      return { isBodyless: false };
    }
    let found = this.next;
    let misfit = this.asked[found]?.misfit(answer) ?? (found < this.asked.length ? undefined : 'nothing was asked');
    if (misfit !== undefined && wasTorn) {
      while (misfit !== undefined && ++found < this.asked.length) misfit = this.asked[found]!.misfit(answer);
    }
    if (misfit !== undefined) this.complain(`request ${this.next}: ${misfit}`);
    this.current = this.asked[found];
    this.next = found + 1;
    if (this.current?.isLast) this.lastBy ??= 'the answer to a request that asks for the end';
    return { isBodyless: this.current?.isHead === true };
  }

  private ends(answer: Answer): void {
    this.answers++;
    const misfit = this.current?.misfitOfBody?.(answer);
    if (misfit !== undefined) this.complain(`request ${this.next - 1}: ${misfit}`);
  }
}

type End = 'reset' | 'leave' | 'half-close' | 'read' | 'stall';
const ends: readonly End[] = ['reset', 'reset', 'leave', 'half-close', 'read', 'stall'];

/** How a connection sends its bytes, reads and ends; chance decides all of it. */
export interface Plan {
  readonly text: string;
  /** Ends of its pieces. */
  readonly cuts: readonly number[];
  readonly isReading: boolean;
  readonly end: End;
  /** Turns of the event loop from the last byte to the end. */
  readonly turns: number;
}

export const anyPlan = (random: Random, whole: string): Plan => {
  const end = random.pick(ends);
  // Ends at every point: also of the first requests of a long pipeline.
  const beyond = random.next() < 0.5 ? whole.length : Math.ceil(whole.length * random.next() ** 3);
  const text = end === 'read' ? whole : whole.slice(0, beyond);
  const pieces = random.next() < 0.5 ? 1 : random.between(1, 12);
  const cuts = Array.from({ length: pieces - 1 }, () => random.between(0, text.length)).sort((a, b) => a - b);
  const isReading = end === 'read' || end === 'half-close' || (end !== 'stall' && random.next() < 0.5);
  return { text, cuts: [...cuts, text.length], isReading, end, turns: Math.floor(40 * random.next() ** 2) };
};

/** A connection of an attacker. */
export class Connection {
  readonly ended: Promise<void>;
  private readonly raw: Socket;
  private readonly socket: Socket;
  private readonly plan: Plan;
  private readonly judge: Judge | undefined;
  private readonly random: Random;
  private readonly opened: Promise<void>;
  private hasEnded = false;
  private readonly isTcp: boolean;
  private heard: () => void = () => {};
  /** All that it may expect has come, or the connection has ended. */
  readonly answered: Promise<void>;

  /** @param asked undefined where the answers are no HTTP */
  constructor(
    target: Target,
    plan: Plan,
    asked: readonly Asked[] | undefined,
    random: Random,
    complain: (what: string) => void,
  ) {
    this.plan = plan;
    this.random = random;
    this.judge = asked && new Judge(asked, complain);
    const { at, isTls } = target;
    this.raw = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1').setNoDelay(true);
    this.isTcp = typeof at === 'number';
    this.raw.on('error', () => {});
    this.socket = isTls ? connectTls({ socket: new Passing(this.raw), rejectUnauthorized: false }) : this.raw;
    this.socket.on('error', () => {});
    this.ended = new Promise((resolve) =>
      this.socket.once('close', () => {
        this.hasEnded = true;
        this.heard();
        resolve();
      }),
    );
    const answered = new Promise<void>((resolve) => {
      this.heard = () => (this.hasEnded || this.judge?.awaited === undefined) && resolve();
    });
    this.answered = answered;
    const opened = new Promise<void>((resolve) =>
      this.socket.once(isTls ? 'secureConnect' : 'connect', () => resolve()),
    );
    this.opened = Promise.race([opened, this.ended]);
    if (plan.isReading) this.read();
  }

  get answers(): number {
    return this.judge?.answers ?? 0;
  }

  /** What it has not been answered. */
  get isOpen(): string | undefined {
    return this.hasEnded ? undefined : this.judge?.awaited;
  }

  private read(): void {
    this.socket.on('data', (piece: Buffer) => {
      this.judge?.hear(piece);
      this.heard();
    });
  }

  /** Sends its bytes and ends, unless it stays: then it is to be let go. */
  async run(): Promise<'over' | 'reads' | 'stays'> {
    await this.opened;
    const { text, cuts, end } = this.plan;
    let from = 0;
    for (const to of cuts) {
      if (this.hasEnded) return 'over';
      this.socket.write(text.slice(from, to), 'latin1');
      from = to;
      if (to < text.length) await turns(this.random.between(0, 20));
    }
    await turns(this.plan.turns);
    if (this.hasEnded) return 'over';
    if (end === 'read') return 'reads';
    if (end === 'half-close') this.socket.end();
    if (end === 'half-close' || end === 'stall') return 'stays';
    this.letGo();
    return 'over';
  }

  /** Ends it, whatever it waits for. */
  letGo(): void {
    if (this.plan.end !== 'leave' && this.isTcp && !this.hasEnded) this.raw.resetAndDestroy();
    this.socket.destroy();
  }
}
