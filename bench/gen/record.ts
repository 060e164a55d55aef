import { encodeHistogram, type Histogram, newHistogram, percentilesOf, recordMs } from './hdr.ts';

/** One second of a window. `planned` and `sent` are of requests that began in it, the others of what happened in it. */
export interface Second {
  planned: number;
  sent: number;
  done: number;
  /** Requests that were answered with each status; 0 stands for those that broke, timed out or were never sent. */
  statuses: Record<string, number>;
  /** Sent and not answered, at the end of the second. */
  inFlight: number;
  /** Of what was answered in it, from the intended time, milliseconds. */
  p50: number;
  p99: number;
}

/** Where a request's time goes. `lag` is the generator's own: how late it took up what was due. */
export type Phase = 'intended' | 'service' | 'queue' | 'ttft' | 'itl' | 'lag';

/** Histograms as `hdr.ts` encodes them, by name: a phase, `intended 429` for one status, `intended stream` for a kind. */
export type Histograms = Readonly<Record<string, string>>;

export interface Recorded {
  readonly statuses: Readonly<Record<string, number>>;
  readonly histograms: Histograms;
  readonly timeline: readonly Second[];
}

const emptySecond = (): Second => ({ planned: 0, sent: 0, done: 0, statuses: {}, inFlight: 0, p50: 0, p99: 0 });

/** What happens within the measured window; nothing before it, and after it only the ends of what began in it. */
export class Recorder {
  #began = Infinity;
  #ended = Infinity;
  readonly #histograms = new Map<string, Histogram>();
  readonly #statuses: Record<string, number> = {};
  readonly #seconds: Second[] = [];
  readonly #second: Histogram = newHistogram();
  #at = 0;
  readonly #isOpen: boolean;

  readonly #isMixed: boolean;

  /**
   * @param isOpen whether requests have a time at which they are due, apart from that at which they are sent
   * @param isMixed whether there are kinds of requests to be told apart
   */
  constructor(isOpen: boolean, isMixed: boolean) {
    this.#isOpen = isOpen;
    this.#isMixed = isMixed;
  }

  begin(now: number): void {
    this.#began = now;
    this.#seconds.push(emptySecond());
  }

  end(now: number): void {
    this.#ended = now;
    this.#close(0);
    // The window's last second is seldom a whole one: a short rest would look like a stall.
    const rest = (now - this.#began) % 1000;
    if (rest < 500 && this.#seconds.length > 1) this.#seconds.pop();
    this.#at = this.#seconds.length - 1;
  }

  /** Whether a request that is due or was sent then is measured. */
  holds(at: number): boolean {
    return at >= this.#began && at < this.#ended;
  }

  /** To be called often: closes the seconds that are over. */
  turn(now: number, inFlight: number): void {
    if (!this.holds(now)) return;
    for (const second = Math.floor((now - this.#began) / 1000); this.#at < second; this.#at++) {
      this.#close(inFlight);
      this.#seconds.push(emptySecond());
    }
  }

  planned(at: number): void {
    if (this.holds(at)) this.#current.planned++;
  }

  sent(at: number, queuedMs: number): void {
    if (!this.holds(at)) return;
    this.#current.sent++;
    if (this.#isOpen) this.#add('queue', queuedMs);
  }

  lag(at: number, ms: number): void {
    if (this.holds(at)) this.#add('lag', ms);
  }

  phase(began: number, phase: Phase, ms: number): void {
    if (this.holds(began)) this.#add(phase, ms);
  }

  /**
   * @param status 0 for a request that broke, timed out or was never sent
   * @param sent null where it never was: it waits still
   */
  answered(now: number, status: number, kind: string, intended: number, sent: number | null): void {
    const key = String(status);
    if (this.holds(now)) {
      const second = this.#current;
      second.done++;
      second.statuses[key] = (second.statuses[key] ?? 0) + 1;
      recordMs(this.#second, now - intended);
    }
    if (!this.holds(intended)) return;
    this.#statuses[key] = (this.#statuses[key] ?? 0) + 1;
    if (this.#isOpen) this.#took('intended', status, now - intended);
    if (sent !== null) this.#took('service', status, now - sent);
    // Without a schedule a request is sent when it is intended.
    if (this.#isMixed) this.#add(`${this.#isOpen ? 'intended' : 'service'} ${kind}`, now - intended);
  }

  recorded(): Recorded {
    const histograms: Record<string, string> = {};
    for (const [name, histogram] of this.#histograms) histograms[name] = encodeHistogram(histogram);
    return { statuses: this.#statuses, histograms, timeline: this.#seconds };
  }

  get #current(): Second {
    return this.#seconds[this.#at]!;
  }

  #close(inFlight: number): void {
    const second = this.#current;
    second.inFlight = inFlight;
    if (this.#second.totalCount > 0) {
      const { p50, p99 } = percentilesOf(this.#second);
      second.p50 = p50;
      second.p99 = p99;
      this.#second.reset();
    }
  }

  #took(phase: Phase, status: number, ms: number): void {
    this.#add(phase, ms);
    if (status !== 200) this.#add(`${phase} ${status}`, ms);
  }

  #add(name: string, ms: number): void {
    let histogram = this.#histograms.get(name);
    if (histogram === undefined) {
      histogram = newHistogram();
      this.#histograms.set(name, histogram);
    }
    recordMs(histogram, ms);
  }
}
