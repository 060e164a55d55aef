import { connect, type Socket } from 'node:net';

/** Types of frames (RFC 9113, 6). */
export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
const SETTINGS = 4;
export const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const endsStream = ({ type, flags }: Frame): boolean =>
  (type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0;

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** A header as HPACK has it in its plainest form: not indexed, not compressed (RFC 7541, 6.2.2). */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

/** One HTTP/2 connection, frame by frame. */
export class FrameConnection {
  /** Frames that have come, in order, without those that only say that the connection is there. */
  readonly seen: Frame[] = [];
  private readonly socket: Socket;
  private rest: Buffer = Buffer.alloc(0);
  private waiting: (() => void)[] = [];

  constructor(path: string) {
    this.socket = connect(path);
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk: Buffer) => this.take(chunk));
    this.socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0, Buffer.alloc(0))]),
    );
  }

  /** Opens a gRPC call whose body follows. */
  open(stream: number, path: string): void {
    const headers = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'localhost'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    ].map(([name, value]) => header(name!, value!));
    this.socket.write(frame(HEADERS, END_HEADERS, stream, Buffer.concat(headers)));
  }

  data(stream: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 16_384) {
      this.socket.write(frame(DATA, 0, stream, bytes.subarray(at, at + 16_384)));
    }
  }

  /** Lets the other side send a GiB on the connection and on the streams, and takes nothing of it until `resume`. */
  hold(...streams: readonly number[]): void {
    const more = Buffer.from([0x40, 0, 0, 0]);
    for (const stream of [0, ...streams]) this.socket.write(frame(WINDOW_UPDATE, 0, stream, more));
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Resolves as soon as this is so of the frames that have come. */
  until(isSo: (seen: readonly Frame[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => (isSo(this.seen) ? resolve() : this.waiting.push(look));
      look();
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    while (this.rest.length >= 9 && this.rest.length >= 9 + this.rest.readUIntBE(0, 3)) {
      const end = 9 + this.rest.readUIntBE(0, 3);
      const [type, flags] = [this.rest[3]!, this.rest[4]!];
      const stream = this.rest.readUInt32BE(5);
      const payload = this.rest.subarray(9, end);
      this.rest = this.rest.subarray(end);
      if (type === SETTINGS && (flags & ACK) === 0) this.socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
      this.seen.push({ type, flags, stream, payload });
    }
    const waiting = this.waiting;
    this.waiting = [];
    for (const look of waiting) look();
  }
}
