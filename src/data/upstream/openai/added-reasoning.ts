import { lentDocument as tape } from '../../../json/document.ts';
import { edited, removal } from '../../../json/edits.ts';
import type { GenerateOptions } from '../port.ts';
import type { Outgoing } from '../transport/endpoint.ts';
import { memberOf, spells } from '../transport/told.ts';
import { errorBodyOf } from '../transport/upstream-errors.ts';

/** Weir asks for encrypted reasoning, because nothing is stored (contract L.1, L.3). Some models have none. */
export class AddedReasoning {
  /** The upstream has refused it and answered without. */
  #isRefused = false;

  asking(asked: Outgoing, options: GenerateOptions): readonly [Outgoing, GenerateOptions] {
    const { body } = asked;
    if (this.#isRefused) return [{ ...asked, body: withoutReasoning(body) ?? body }, options];
    let isAskedAgain = false;
    const otherwise = (status: number, text: string): Buffer | null => {
      const other = isRefusalOfIt(status, text) ? withoutReasoning(body) : null;
      isAskedAgain = other !== null;
      return other;
    };
    const began = (): void => {
      this.#isRefused ||= isAskedAgain;
      options.began?.();
    };
    return [
      { ...asked, otherwise },
      { ...options, began },
    ];
  }
}

/** OpenAI's own words, and those of servers that know no such value or member. */
const refusals =
  /^include\b|; include\b|["'`]include\b|reasoning\.encrypted_content|encrypted content is not supported/i;

const isRefusalOfIt = (status: number, text: string): boolean => {
  if (status !== 400 && status !== 422) return false;
  const { param, message } = errorBodyOf(text);
  return param === '' ? refusals.test(message) : /^include\b/.test(param);
};

/** Nothing else changes. Null if it does not ask for it. */
const withoutReasoning = (body: Buffer): Buffer | null => {
  tape.scanAny(body);
  const include = memberOf(0, 'include');
  const items = tape.items(include);
  const added = items.find((item) => spells(item, 'reasoning.encrypted_content'));
  if (added === undefined) return null;
  if (items.length === 1) return edited(body, [tape.removed(include)]);
  const { start, end } = tape.replaced(added, '');
  return edited(body, [removal(body, start, end)]);
};
