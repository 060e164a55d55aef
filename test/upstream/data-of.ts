import { documentIn, EventFrames, frameAt } from '../../src/data/upstream/transport/event-frames.ts';

/** The data of the events in these pieces, as the gateway reads them. */
export function* dataOf(pieces: Iterable<Buffer>, most = 10_000_000): Generator<string> {
  const frames = new EventFrames(most);
  for (const piece of pieces) {
    const events = frames.push(piece);
    for (let at = 0; at < events.length; ) {
      const frame = frameAt(events, at, most);
      at += frame.length;
      const document = documentIn(frame);
      if (document !== null) yield document.toString();
    }
    if (frames.fault !== null) throw frames.fault;
  }
}
