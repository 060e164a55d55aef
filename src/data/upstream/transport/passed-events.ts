import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { type Edit, edited } from '../../../json/edits.ts';
import type { Usage } from '../../../tokens.ts';
import type { PassedEvents } from '../port.ts';
import { AlikeEvents, type Varying } from './alike-events.ts';
import { markIn, type StreamReader } from './answers.ts';
import { documentIn, frameAt } from './event-frames.ts';
import { maxHeldBytes } from './limits.ts';
import { Passage } from './passage.ts';
import { type OwnNames, scanned } from './told.ts';

/** What becomes of an event; null if it does not pass. */
export interface PassedEvent {
  /** Our own id and model, and what is left out. */
  readonly edits?: readonly Edit[];
  /** Written before the document of an event that changes; absent if it passes as it is. */
  readonly head?: string | undefined;
  /** It says nothing yet: it waits for the first that does. */
  readonly waits?: boolean;
  /** The entries of its only text, a number and of padding, where nothing else differs in the next events. */
  readonly text?: number;
  readonly number?: number;
  readonly padding?: number;
}

const noBytes = Buffer.alloc(0);
const blankLine = Buffer.from('\n\n');

/** Reads usage, end and failure while events pass; only id and model change (contract L.1). */
export abstract class PassedReader implements StreamReader<PassedEvents> {
  protected readonly own: OwnNames;
  protected passed = new Passage();
  readonly #alike = new AlikeEvents();
  #start: Buffer[] | null = [];
  #startBytes = 0;
  #waits = true;
  ended = false;
  outputBytes = 0;

  constructor(own: OwnNames) {
    this.own = own;
  }

  abstract readonly usage: Usage;

  get counted(): Usage {
    return this.usage;
  }

  /** Of the event on the tape. @throws UpstreamError for an error, or an invalid event */
  protected abstract read(document: Buffer, frame: Buffer): PassedEvent | null;

  /** The end of the stream in some APIs. */
  protected done(): void {}

  /** The body has ended. @throws UpstreamError if too early */
  protected abstract close(): void;

  /** Up to the last event of the stream or a failure. */
  readAll(events: Buffer): { readonly pieces: readonly PassedEvents[]; readonly failure: unknown } {
    this.passed = new Passage();
    let failure: unknown = null;
    try {
      for (let at = 0; at < events.length && !this.ended; ) at = this.#readAt(events, at);
    } catch (error) {
      failure = error;
    }
    const { whole } = this.passed;
    return { pieces: whole.length === 0 ? [] : [this.#piece(whole)], failure };
  }

  finish(): readonly PassedEvents[] {
    this.close();
    return [this.#piece(noBytes)];
  }

  #readAt(events: Buffer, at: number): number {
    const end = this.#alike.pass(events, at, this.passed);
    if (end !== -1) {
      this.outputBytes += this.#alike.textBytes;
      return end;
    }
    const frame = frameAt(events, at);
    const document = documentIn(frame);
    const mark = document === null ? 'nothing' : markIn(document);
    if (mark === 'done') this.done();
    else if (document !== null && mark === null) {
      scanned(document, 'the data of an event');
      const read = this.read(document, frame);
      if (read !== null) this.#put(read, frame, document, events, at);
    }
    return at + frame.length;
  }

  #put(read: PassedEvent, frame: Buffer, document: Buffer, events: Buffer, at: number): void {
    const { head, edits = [], waits = false } = read;
    const written = head === undefined ? null : Buffer.from(head);
    const event = written === null ? frame : Buffer.concat([written, edited(document, edits), blankLine]);
    this.#startBytes += event.length;
    this.#waits &&= waits && this.#startBytes <= maxHeldBytes;
    if (this.#waits) this.#start!.push(Buffer.from(event));
    else {
      if (written === null) this.passed.pass(events, at, at + frame.length);
      else this.passed.put(event);
      this.#learn(read, frame, document, written);
    }
  }

  /** Of an event that has to be written anew, only one that came as it is written. */
  #learn(
    { text = -1, number = -1, padding = -1, edits = [] }: PassedEvent,
    frame: Buffer,
    document: Buffer,
    head: Buffer | null,
  ): void {
    const start = document.byteOffset - frame.byteOffset;
    const isInFrame = document.buffer === frame.buffer && start + document.length === frame.length - 2;
    if (!tape.is(text, Kind.string) || !isInFrame || (head !== null && head.compare(frame, 0, start) !== 0)) return;
    const varying: Varying[] = [place(text, 'text', start)];
    if (tape.is(padding, Kind.string)) varying.push(place(padding, 'padding', start));
    if (number !== -1 && tape.kind(number) === Kind.number) varying.push(place(number, 'number', start));
    varying.sort((one, other) => one.start - other.start);
    const moved = edits.map((edit) => ({ start: edit.start + start, end: edit.end + start, text: edit.text }));
    this.#alike.learn(frame, varying, moved);
  }

  #piece(events: Buffer): PassedEvents {
    const { usage, outputBytes, ended } = this;
    const start = this.#start === null || this.#start.length === 0 ? null : Buffer.concat(this.#start);
    this.#start = null;
    this.#waits = false;
    return { start, events, usage, outputBytes, ended };
  }
}

const place = (entry: number, is: Varying['is'], start: number): Varying => ({
  start: start + tape.start(entry),
  end: start + tape.end(entry),
  is,
});
