import { binaryEvent } from '../events.ts';
import type { Questions, Told } from './asking.ts';

/** Links, resolved and not. */
export const links: Questions = {
  'resolved, unresolved, broken': {
    ask: async (x) => {
      const a = x.stream('a'),
        l = x.stream('l');
      await x.put(a, [x.event({ i: 0 }), x.event({ i: 1 })], 'no_stream');
      const link = (d: string) => binaryEvent({ type: '$>', data: Buffer.from(d) });
      await x.put(l, [link(`1@${a}`), link(`9@${a}`), link(`0@${x.stream('never')}`)], 'no_stream');
      const see = (r: Told) => ({
        event: r.event ? { type: r.event.type, rev: `${r.event.revision}n` } : null,
        link: r.link ? { type: r.link.type, rev: `${r.link.revision}n` } : null,
      });
      return [(await x.got(l, { resolveLinkTos: true })).map(see), (await x.got(l)).map(see)];
    },
    answer: [
      [
        { event: { type: 'thing-happened', rev: '1n' }, link: { type: '$>', rev: '0n' } },
        { event: null, link: { type: '$>', rev: '1n' } },
        { event: null, link: { type: '$>', rev: '2n' } },
      ],
      [
        { event: { type: '$>', rev: '0n' }, link: null },
        { event: { type: '$>', rev: '1n' }, link: null },
        { event: { type: '$>', rev: '2n' }, link: null },
      ],
    ],
  },
};
