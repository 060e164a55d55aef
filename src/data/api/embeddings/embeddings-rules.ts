import { Refused } from '../../../http/refused.ts';
import { checker } from '../../../http/routing/endpoint.ts';
import { type Document, Kind } from '../../../json/document.ts';
import { stateFinder } from '../../questions/kept-state.ts';
import type { PassingRules } from '../../request/passing.ts';
import type { RequestRules } from '../../request/prepare.ts';
import { preparedStrictly } from '../../request/prepared.ts';
import { embeddingsBody } from './embeddings-schema.ts';
import { eachEntry, walkEmbeddings } from './walk.ts';

/** What is asked after the request has been read. */
export interface EmbeddingsSaid {
  readonly hasTokens: boolean;
}

const entriesOf = (tape: Document): number => {
  let entries = 0;
  eachEntry(tape, () => {
    entries++;
  });
  return entries;
};

const hasTokens = (tape: Document): boolean => {
  let isAny = false;
  eachEntry(tape, (entry) => {
    isAny ||= tape.is(entry, Kind.array);
  });
  return isAny;
};

const passing: PassingRules<EmbeddingsSaid> = {
  as: 'embeddings',
  family: 'chat',
  schema: embeddingsBody,
  state: [],
  kept: stateFinder({ members: {}, anywhere: ['file_id', 'file_ids', 'vector_store_ids'], ownData: ['metadata'] }),
  conversation: [],
  walk: walkEmbeddings,
  answer: () => ({ maxTokens: 0, grows: false, longest: 0 }),
  // Each entry may be as long as the context.
  turns: ({ tape }) => entriesOf(tape),
  edits: () => [],
  hidesUsage: () => false,
  said: (tape) => ({ hasTokens: hasTokens(tape) }),
};

const check = checker(embeddingsBody, 'chat', 'body');

export const embeddingsRules: RequestRules<EmbeddingsSaid> = {
  passing,
  // Of no model that is visible: the others pass or are refused.
  strict: (value, hosted) => {
    const checked = check(value);
    if (checked instanceof Refused) return checked;
    const { model, policy_ids: named } = checked as { readonly model: string; readonly policy_ids?: string[] | null };
    const asked = { model, isStreamed: false, named: named ?? [], said: { hasTokens: false } };
    return preparedStrictly(asked, hosted, () => {
      throw new Error('Embeddings are not translated.');
    });
  },
};
