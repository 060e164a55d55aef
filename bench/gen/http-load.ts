import { type Address, Connection, type Flight, type Owner } from './connection.ts';
import { Recorder } from './record.ts';
import { type KeyPlan, type Request, type RequestPlan, requestsOf } from './requests.ts';
import type { Load } from './sample.ts';
import { type Arrivals, type Schedule, schedule } from './schedule.ts';

export interface HttpLoadOptions {
  readonly address: Address;
  /** Keep-alive connections, and so the most requests at once. */
  readonly connections: number;
  readonly arrivals: Arrivals;
  readonly requests: readonly RequestPlan[];
  readonly keys: KeyPlan;
  readonly seed: number;
  /** Any other status, or a lost connection, ends the run; null counts all but the 401 of a wrong key, which ends it. */
  readonly expected: number | null;
  /** A request that takes longer is given up, with its connection. */
  readonly timeoutMs: number;
}

const readBytes = 64 * 1024;
const reopenMs = 50;
/** Below this the next request is waited for in a spin: a timer of Node is up to a millisecond late. */
const spinMs = 2;
/** For what was due within the window and is still waiting at its end. */
const backlogMs = 1_000;
/** What a generator can fall behind before the run is given up: memory is finite. */
const mostWaiting = 1_000_000;

const now = (): number => performance.now();

/**
 * Load over keep-alive connections. Closed: each sends its next request when the last is answered, which finds how much
 * work a server gets done. Open: requests are due by a schedule whatever the server does, so that a stall shows; one
 * that is due while every connection is busy waits for the next that is free, and its latency counts from the time it
 * was due.
 */
export class HttpLoad implements Load, Owner {
  /** Answers of any status. */
  done = 0;
  bytes = 0;
  failure: Error | undefined;
  readonly address: Address;
  readonly recorder: Recorder;
  readonly #options: HttpLoadOptions;
  readonly #connections: Connection[] = [];
  readonly #next: () => Request;
  readonly #schedule: Schedule | null;
  #began = 0;
  #due = 0;
  #free: Connection[] = [];
  #waiting: number[] = [];
  #head = 0;
  #inFlight = 0;
  #stopping = false;
  /** Nothing more becomes due. */
  #closing = false;
  #idleMs = 0;
  #turned = 0;
  #worked = false;
  #measured = false;
  #drained: () => void = () => {};
  #caughtUp: () => void = () => {};
  readonly #watch: NodeJS.Timeout;

  constructor(options: HttpLoadOptions) {
    this.#options = options;
    this.address = options.address;
    this.recorder = new Recorder(options.arrivals.is !== 'closed', options.requests.length > 1);
    this.#next = requestsOf(options.requests, options.keys, options.seed);
    this.#schedule = options.arrivals.is === 'closed' ? null : schedule(options.arrivals, options.seed);
    const buffer = Buffer.allocUnsafe(readBytes);
    for (let i = 0; i < options.connections; i++) this.#connections.push(new Connection(this, buffer));
    for (const connection of this.#connections) connection.open();
    this.#watch = setInterval(() => this.#giveUpLate(), 100);
    if (!this.#hasShape) this.#keepSchedule();
  }

  /** Whether it matters for the arrivals when the window begins: those that are not alike all the time begin with it. */
  get #hasShape(): boolean {
    return ['burst', 'ramp', 'trace'].includes(this.#options.arrivals.is);
  }

  #keepSchedule(): void {
    if (this.#schedule === null) return;
    this.#began = now();
    this.#turned = this.#began;
    this.#due = this.#began + this.#schedule();
    this.#turn();
  }

  /** Time of the window without anything to do, milliseconds; 0 for a closed loop, which sleeps in the kernel instead. */
  get idleMs(): number {
    return this.#idleMs;
  }

  begin(): void {
    this.recorder.begin(now());
    this.#idleMs = 0;
    if (this.#hasShape) this.#keepSchedule();
  }

  end(): void {
    this.recorder.end(now());
    this.#measured = true;
  }

  /**
   * Lets the responses under way come in, at most `ms`, and closes every connection. What was due and could not be sent within a
   * second is counted as not answered: who leaves it out counts only the requests that the server had time for.
   */
  async stop(ms = this.#options.timeoutMs): Promise<void> {
    this.#closing = true;
    await this.#catchUp(Math.min(ms, backlogMs));
    this.#stopping = true;
    for (const intended of this.#waiting.slice(this.#head))
      this.recorder.answered(now(), 0, this.#next().plan.name, intended, null);
    this.#waiting = [];
    this.#head = 0;
    const late = setTimeout(() => this.#giveUp(ms), ms);
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
      if (this.#inFlight === 0) resolve();
    });
    clearTimeout(late);
    clearInterval(this.#watch);
    for (const connection of this.#connections) connection.close();
  }

  free(connection: Connection): void {
    this.#worked = true;
    if (this.#stopping) {
      connection.close();
    } else if (this.#schedule === null) {
      const at = now();
      this.#send(connection, at, at);
    } else if (this.#head < this.#waiting.length) {
      this.#send(connection, this.#takeWaiting(), now());
    } else {
      this.#free.push(connection);
    }
  }

  answered({ request, intended, sent }: Flight, status: number): void {
    this.#worked = true;
    const at = now();
    this.done++;
    this.#landed();
    this.recorder.turn(at, this.#inFlight);
    this.recorder.answered(at, status, request.plan.name, intended, sent);
    const { expected } = this.#options;
    // No later answer to this key is better.
    if (status === 401 && request.plan.after !== null) this.#fail('401: the server does not accept the key.');
    if (expected !== null && status !== expected) {
      this.#fail(`The server answered ${status} where ${expected} was expected.`);
    }
  }

  tokens({ intended }: Flight, count: number, since: number | null): void {
    const at = now();
    if (since === null) this.recorder.phase(intended, 'ttft', at - intended);
    else this.recorder.phase(intended, 'itl', at - since);
    // Tokens that arrive together have no time between them.
    for (let i = 1; i < count; i++) this.recorder.phase(intended, 'itl', 0);
  }

  broken({ request, intended, sent }: Flight, why: string): void {
    this.#worked = true;
    this.#landed();
    this.recorder.answered(now(), 0, request.plan.name, intended, sent);
    if (this.#options.expected !== null) this.#fail(`A stream of the server ${why}.`);
  }

  received(bytes: number): void {
    this.bytes += bytes;
  }

  unreadable(error: Error): void {
    this.#fail(error.message);
  }

  lost(connection: Connection, flight: Flight | null, error: Error | null): void {
    this.#free = this.#free.filter((each) => each !== connection);
    if (flight) {
      this.recorder.answered(now(), 0, flight.request.plan.name, flight.intended, flight.sent);
      this.#landed();
    }
    if (this.#stopping) return;
    const isFatal = this.#options.expected !== null || (this.done === 0 && error !== null);
    if (isFatal) this.#fail(error ? `The connection failed: ${error.message}` : 'The server closed a connection.');
    else setTimeout(() => !this.#stopping && connection.open(), reopenMs);
  }

  #send(connection: Connection, intended: number, at: number): void {
    this.#inFlight++;
    this.recorder.sent(intended, at - intended);
    connection.send(this.#next(), intended, at);
  }

  async #catchUp(ms: number): Promise<void> {
    if (this.#stopping || this.#head === this.#waiting.length) return;
    const caughtUp = new Promise<void>((resolve) => {
      this.#caughtUp = resolve;
    });
    const late = setTimeout(this.#caughtUp, ms);
    await caughtUp;
    clearTimeout(late);
  }

  #landed(): void {
    this.#inFlight--;
    if (this.#stopping && this.#inFlight === 0) this.#drained();
  }

  #takeWaiting(): number {
    const intended = this.#waiting[this.#head++]!;
    if (this.#closing && this.#head === this.#waiting.length) this.#caughtUp();
    if (this.#head > 4096) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return intended;
  }

  readonly #turn = (): void => {
    if (this.#stopping || this.#closing) return;
    const at = now();
    this.recorder.turn(at, this.#inFlight);
    if (this.#due <= at) this.#worked = true;
    // A turn in which nothing was due and nothing came was waiting.
    if (!this.#worked && !this.#measured) this.#idleMs += at - this.#turned;
    this.#worked = false;
    this.#turned = at;
    while (this.#due <= at) {
      this.recorder.planned(this.#due);
      this.recorder.lag(this.#due, at - this.#due);
      const connection = this.#free.shift();
      if (connection) this.#send(connection, this.#due, now());
      else if (this.#waiting.length - this.#head < mostWaiting) this.#waiting.push(this.#due);
      else this.#fail(`The server is ${mostWaiting} requests behind.`);
      this.#due = this.#began + this.#schedule!();
    }
    if (this.#due === Infinity) return;
    const wait = this.#due - now();
    if (wait > spinMs) {
      setTimeout(this.#turn, wait - spinMs);
      if (!this.#measured) this.#idleMs += wait - spinMs;
      this.#turned += wait - spinMs;
    } else setImmediate(this.#turn);
  };

  #giveUpLate(): void {
    const at = now();
    this.recorder.turn(at, this.#inFlight);
    for (const connection of this.#connections) {
      const { flight } = connection;
      if (flight && at - flight.sent > this.#options.timeoutMs) connection.close();
    }
  }

  /** What is still open at the end has failed; where the answers are taken as they come, that is counted. */
  #giveUp(ms: number): void {
    if (this.#options.expected !== null)
      this.#fail(`The server left ${this.#inFlight} requests unanswered for ${ms} ms.`);
    for (const connection of this.#connections) connection.close();
  }

  #fail(reason: string): void {
    this.failure ??= new Error(reason);
    this.#stopping = true;
    this.#caughtUp();
    for (const connection of this.#connections) connection.close();
    if (this.#inFlight === 0) this.#drained();
  }
}
