import { type Document, Kind } from '../../../json/document.ts';
import type { Usage } from '../../../tokens.ts';
import { type Fields, within } from '../transport/fields.ts';
import { type Beside, usageOf } from './chat-usage.ts';

/** The `usage` of a response, as `readUsage` reads that of a chat completion. */
export const readResponseUsage = (value: unknown, most: number, beside: Beside): Usage | null => {
  const { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens } = within(value);
  const { reasoning_tokens = 0, ...ofOutput } = within(output_tokens_details);
  return usageOf(
    {
      input: input_tokens,
      ofInput: within(input_tokens_details),
      output: output_tokens,
      ofOutput: { ...ofOutput, reasoning_tokens },
      total: total_tokens,
    },
    most,
    beside,
  );
};

const [webCall, fileCall] = ['web_search_call', 'file_search_call'];
const [webBytes, fileBytes] = [webCall, fileCall].map((name) => Buffer.from(name!)) as [Buffer, Buffer];
const [output, type, tier] = ['output', 'type', 'service_tier'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** Opening a found page or searching in it is no search. */
const isSearch = ({ action, status }: Fields): boolean => {
  const { type: kind } = within(action);
  return status !== 'failed' && (kind === undefined || kind === 'search');
};

const countedIn = (calls: readonly unknown[]): Pick<Beside, 'webSearches' | 'fileSearches'> => {
  const searches = calls.map(within).filter(isSearch);
  const of = (name: unknown): number => searches.filter((call) => call.type === name).length;
  return { webSearches: of(webCall), fileSearches: of(fileCall) };
};

export const besideOf = (response: Fields): Beside => ({
  tier: response.service_tier,
  ...countedIn(Array.isArray(response.output) ? response.output : []),
});

export const besideOnTape = (tape: Document, response: number): Beside => {
  const [list, served] = [tape.member(response, output), tape.member(response, tier)];
  const beside = { tier: served === -1 ? null : tape.value(served) };
  if (list === -1 || tape.kind(list) !== Kind.array) return beside;
  const calls: unknown[] = [];
  const end = tape.next(list);
  for (let at = list + 1; at < end; at = tape.next(at)) {
    if (tape.kind(at) !== Kind.object) continue;
    const kind = tape.member(at, type);
    if (kind === -1 || tape.kind(kind) !== Kind.string) continue;
    if (tape.spells(kind, webBytes) || tape.spells(kind, fileBytes)) calls.push(tape.value(at));
  }
  return calls.length === 0 ? beside : { ...beside, ...countedIn(calls) };
};
