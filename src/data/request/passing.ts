import type { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import type { Cut, Family } from '../../http/route.ts';
import { checker } from '../../http/routing/endpoint.ts';
import { type Document, Kind } from '../../json/document.ts';
import { type Edit, edited } from '../../json/edits.ts';
import { named } from '../../json/names.ts';
import { Counted } from '../questions/counted.ts';
import { imagesIn, pricesImages } from '../questions/images.ts';
import { otherModelIn } from '../questions/other-models.ts';
import { folded, misspeltIn } from '../questions/spelling.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import type { Upstream } from '../upstream/port.ts';
import { bodyRefusal } from './body-refusal.ts';
import { conforms } from './conforms.ts';
import type { ServedTo } from './named-model.ts';
import type { Prepared } from './prepared.ts';

/** What the answer may take. */
export interface AnswerNeed {
  readonly maxTokens: number;
  readonly grows: boolean;
  readonly longest: number;
  readonly cut?: Cut | undefined;
}

/** A body that is sent to its upstream as it is (contract L.1). */
export interface PassingRules<Said> {
  readonly as: keyof NonNullable<Upstream['passing']>;
  readonly family: Family;
  /** Of what Weir checks; the upstream judges the rest. */
  readonly schema: z.ZodObject;
  /** Outermost members that name state. */
  readonly state: readonly string[];
  /** Where it names what the upstream keeps; -1 if nowhere. */
  readonly kept: (tape: Document) => number | Refusal;
  /** Outermost members that may have images. */
  readonly conversation: readonly Buffer[];
  readonly walk: (to: Counted) => void;
  readonly answer: (tape: Document, hosted: ConnectedModel) => AnswerNeed;
  /** Calls of the model for one answer. */
  readonly turns: (counted: Counted) => number;
  /** Beside the model's name and policies, in any order. */
  readonly edits: (tape: Document, hosted: ConnectedModel) => readonly Edit[];
  /** Whether an edit asks for usage that the client does not want. */
  readonly hidesUsage: (tape: Document) => boolean;
  /** Whether an edit asks for encrypted reasoning that the client does not ask for; absent if none does. */
  readonly addsReasoning?: (tape: Document, hosted: ConnectedModel) => boolean;
  /** Answers that are asked for; absent if always one. */
  readonly choices?: (tape: Document) => number | undefined;
  readonly said: (tape: Document, model: string) => Said;
}

export const isPassing = ({ model, upstream }: ConnectedModel, as: PassingRules<unknown>['as']): boolean =>
  model.passthrough && upstream.passing?.[as] !== undefined;

/** A model of embeddings answers nothing else, and no other model answers them (contract L.1). */
export const answersApi = ({ upstream }: ConnectedModel, as: PassingRules<unknown>['as']): boolean =>
  (as === 'embeddings') === (upstream.passing?.embeddings !== undefined);

interface Scanned {
  readonly tape: Document;
  readonly bytes: Buffer;
  readonly name: string;
  readonly hosted: ConnectedModel;
  readonly principal: ServedTo;
  /** Whether a value may be made, to write a refusal. */
  readonly mayParse: boolean;
}

const { model, stream, policy_ids: policies } = named('model', 'stream', 'policy_ids');
const messages = {
  others: 'The project may use certain models alone, and this names others.',
  kept: 'What the provider keeps cannot be named here: its account is shared.',
};

const refusedAt = ({ tape, mayParse }: Scanned, entry: number, message: string): Refused | null => {
  if (!mayParse) return null;
  const path = tape.path(entry);
  const value = tape.exactValue() as object;
  return new Refused(bodyRefusal(value, { code: 'unsupported_parameter', path, message }));
};

/** Null if the body is refused but no value may be made. */
export const passingReader = <Said>(rules: PassingRules<Said>) => {
  const isValid = conforms(rules.schema);
  const judged = checker(rules.schema, rules.family, 'body');
  const names = new Set([...Object.keys(rules.schema.shape), ...rules.state]);

  /** In the order of the contract; undefined if there is none. */
  const refusalOf = (scanned: Scanned): Refused | null | undefined => {
    const { tape, hosted, principal, mayParse } = scanned;
    const misspelt = misspeltIn(tape, names);
    if (misspelt !== -1) return refusedAt(scanned, misspelt, `Has to be written "${folded(tape.text(misspelt))}".`);
    // A project restricted to certain models could reach all of the upstream's (contract B.2).
    const other = principal.allowedModels === null ? -1 : otherModelIn(tape);
    if (other !== -1) return refusedAt(scanned, other, messages.others);
    if (!isValid(tape, 0)) {
      const checked = mayParse ? judged(tape.exactValue()) : null;
      if (checked === null || checked instanceof Refused) return checked;
    }
    // All organizations share the upstream's account, so its stored state could belong to another.
    const kept = hosted.model.dedicated_to === undefined ? rules.kept(tape) : -1;
    if (typeof kept !== 'number') return new Refused(kept);
    return kept === -1 ? undefined : refusedAt(scanned, kept, messages.kept);
  };

  return (scanned: Scanned): Prepared<Said> | Refused | null => {
    const refused = refusalOf(scanned);
    if (refused !== undefined) return refused;
    const { tape, bytes, name, hosted } = scanned;
    const counted = new Counted(tape, hosted.model);
    rules.walk(counted);
    const { maxTokens, grows, longest, cut } = rules.answer(tape, hosted);
    const own = ownEdits(tape, hosted.upstreamModel);
    const edits = [...own, ...rules.edits(tape, hosted)].sort((one, other) => one.start - other.start);
    // Member by member: a spread took eight microseconds.
    return {
      model: name,
      modelId: hosted.model.id,
      isStreamed: tape.is(tape.member(0, stream), Kind.true),
      named: tape.strings(tape.member(0, policies)),
      said: rules.said(tape, name),
      estimatedTokens: counted.tokens,
      maxTokens,
      grows,
      longest,
      cut,
      turns: rules.turns(counted),
      images: pricesImages(hosted.model) ? imagesIn(tape, rules.conversation) : 0,
      searches: counted.searches,
      refusal: null,
      sent: {
        body: edited(bytes, edits),
        hidesUsage: rules.hidesUsage(tape),
        addsReasoning: rules.addsReasoning?.(tape, hosted) ?? false,
        choices: rules.choices?.(tape),
      },
    };
  };
};

const ownEdits = (tape: Document, upstreamModel: string): readonly Edit[] => {
  const renamed = tape.replaced(tape.member(0, model), JSON.stringify(upstreamModel));
  const given = tape.member(0, policies);
  return given === -1 ? [renamed] : [renamed, tape.removed(given)];
};
