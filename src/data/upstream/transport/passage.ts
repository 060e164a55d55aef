const noBytes = Buffer.alloc(0);

/** Passed parts of events; adjacent parts are one piece. */
export class Passage {
  readonly #pieces: Buffer[] = [];
  #events: Buffer = noBytes;
  #start = 0;
  #end = 0;

  pass(events: Buffer, start: number, end: number): void {
    if (events !== this.#events || start !== this.#end) {
      this.#cut();
      this.#events = events;
      this.#start = start;
    }
    this.#end = end;
  }

  put(bytes: Buffer): void {
    this.#cut();
    this.#pieces.push(bytes);
  }

  get whole(): Buffer {
    this.#cut();
    const pieces = this.#pieces;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#events.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
