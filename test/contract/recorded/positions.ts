import { binaryEvent } from '../events.ts';
import { eventCount, eventsOf, type Questions } from './asking.ts';

const isItsOwn = ({ commitPosition, event }: { commitPosition?: bigint; event?: { position?: { commit: bigint } } }) =>
  commitPosition === event?.position?.commit;

/** The position beside the event. */
export const positions: Questions = {
  'a stream read carries it': {
    ask: async (x) => (await x.read(await x.streamOf(2))).map(isItsOwn),
    answer: [true, true],
  },
  'a backward stream read carries it': {
    ask: async (x) =>
      (await x.read(await x.streamOf(2), { direction: 'backwards', fromRevision: 'end' })).map(isItsOwn),
    answer: [true, true],
  },
  'a stream subscription carries it, history and live': {
    ask: async (x) => {
      const name = await x.streamOf(1);
      const subscription = x.client.subscribeToStream(name, { fromRevision: 'start' });
      const seen = await x.follow(subscription, eventCount(2), () => x.append(name, [x.event()], 0n));
      return eventsOf(seen).map(isItsOwn);
    },
    answer: [true, true],
  },
  'of a resolved link it is that of the link': {
    ask: async (x) => {
      const name = await x.streamOf(1);
      const links = x.stream('l');
      await x.append(links, [binaryEvent({ type: '$>', data: Buffer.from(`0@${name}`) })], 'no_stream');
      return (await x.read(links, { resolveLinkTos: true })).map((resolved) => [
        resolved.commitPosition === resolved.link?.position?.commit,
        isItsOwn(resolved),
      ]);
    },
    answer: [[true, false]],
  },
};
