import { isUtf8 } from 'node:buffer';
import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import { type Fields, fieldsOf, parsedJson, within } from '../transport/fields.ts';
import {
  mostPassedTokens,
  type OwnDocument,
  type OwnNames,
  parsedNames,
  scannedNames,
} from '../transport/own-names.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { type Beside, readUsage } from './chat-usage.ts';
import { besideOf, besideOnTape, readResponseUsage } from './response-usage.ts';
import { chatLabels, itemLabels, writtenIn } from './written.ts';

/** How the whole answers of APIs differ. */
interface Form {
  readonly list: string;
  readonly readUsage: (value: unknown, most: number, beside: Beside) => Usage | null;
  /** Other billed items, from the tape and from the parsed answer. */
  readonly scanned: () => Beside;
  readonly parsed: (answer: Fields) => Beside;
  readonly writtenIn: (list: readonly unknown[]) => number;
}

const [usageName, tierName] = ['usage', 'service_tier'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** Rewrites id and model (contract L.1). @throws UpstreamError for an invalid answer */
const owner = (form: Form): ((document: Buffer, own: OwnNames) => OwnDocument) => {
  const listName = Buffer.from(form.list);

  const scanned = (document: Buffer, own: OwnNames): OwnDocument | null => {
    if (!tape.scan(document) || tape.kind(0) !== Kind.object) return null;
    const [list, said] = [tape.member(0, listName), tape.member(0, usageName)];
    if (list === -1 || tape.kind(list) !== Kind.array || said === -1) return null;
    const usage = form.readUsage(tape.value(said), mostPassedTokens, form.scanned());
    // Without an output count the text must be measured.
    if (usage === null || usage.output_tokens === 0) return null;
    const edits = scannedNames(tape, 0, own);
    return edits && { document: edited(document, edits), usage, outputBytes: 0 };
  };

  const parsed = (document: Buffer, own: OwnNames): OwnDocument => {
    if (!isUtf8(document)) throw malformed('the answer is not UTF-8');
    const answer = fieldsOf(parsedJson(document.toString('utf8'), 'the answer'), 'the answer');
    const list = answer[form.list];
    if (!Array.isArray(list)) throw malformed(`the answer has no ${form.list}`);
    return {
      document: edited(document, parsedNames(document, own)),
      usage: form.readUsage(answer.usage, mostPassedTokens, form.parsed(answer)) ?? noTokens,
      outputBytes: form.writtenIn(list),
    };
  };

  return (document, own) => scanned(document, own) ?? parsed(document, own);
};

export const ownCompletion = owner({
  list: 'choices',
  readUsage,
  scanned() {
    const served = tape.member(0, tierName);
    return { tier: served === -1 ? null : tape.value(served) };
  },
  parsed: ({ service_tier: tier }) => ({ tier }),
  writtenIn: (choices) => choices.reduce<number>((sum, each) => sum + writtenIn(within(each).message, chatLabels), 0),
});

export const ownResponse = owner({
  list: 'output',
  readUsage: readResponseUsage,
  scanned: () => besideOnTape(tape, 0),
  parsed: besideOf,
  writtenIn: (output) => writtenIn(output, itemLabels),
});
