import { type Document, Kind } from '../../json/document.ts';
import { nameSet } from '../../json/names.ts';
import { folded } from './spelling.ts';

type NamesState = (tape: Document, name: number) => boolean;

export interface StateNames {
  /** Outermost ones; unless null, or the value here. */
  readonly members: Readonly<Record<string, 'null' | 'false'>>;
  /** At any depth and in any case. */
  readonly anywhere: readonly string[];
  /** At any depth, depending on the value or its neighbours. */
  readonly somewhere?: Readonly<Record<string, NamesState>>;
  /** Not looked into: the caller's own data. */
  readonly ownData: readonly string[];
}

/** Of chat completions and responses. */
export const keptMembers: StateNames['members'] = {
  previous_response_id: 'null',
  conversation: 'null',
  prompt: 'null',
  container: 'null',
  background: 'false',
  store: 'false',
};

/** Where a body names what an upstream keeps: the entry of a name, -1 if nowhere (contract L.1). */
export const stateFinder = ({ members, anywhere, somewhere = {}, ownData }: StateNames) => {
  const outermost = Object.entries(members).map(([name, harmless]) => ({ name: Buffer.from(name), harmless }));
  const always = anywhere.map((name): [string, NamesState] => [name, () => true]);
  const conditions = new Map([...always, ...Object.entries(somewhere)]);
  const isState = nameSet([...conditions.keys()]);
  const isOwn = nameSet(ownData);
  const namesState: NamesState = (tape, name) => {
    if (tape.isPlainName(name) && !isState(tape, name)) return false;
    const judge = tape.kind(name + 1) === Kind.null ? undefined : conditions.get(folded(tape.text(name)));
    return judge?.(tape, name) === true;
  };
  return (tape: Document): number => {
    for (const { name, harmless } of outermost) {
      const given = tape.member(0, name);
      if (tape.isGiven(given) && !(harmless === 'false' && tape.is(given, Kind.false))) return given - 1;
    }
    // Tool results hold blocks, documents hold sources.
    return tape.firstName(0, namesState, isOwn);
  };
};
