import { lentDocument as tape } from '../../../json/document.ts';
import { edited, removal } from '../../../json/edits.ts';
import type { GenerateOptions, PassedRequest } from '../port.ts';
import type { Outgoing } from '../transport/endpoint.ts';
import { memberOf, spells } from '../transport/told.ts';
import { errorBodyOf } from '../transport/upstream-errors.ts';

const path = '/v1/responses';

/** Weir asks for encrypted reasoning in place of the storing that it takes away (contract L.1). Some models have none. */
export class AddedReasoning {
  /** The upstream has refused it and answered without. */
  #isRefused = false;

  asking(request: PassedRequest, options: GenerateOptions): readonly [Outgoing, GenerateOptions] {
    const { body, headers, addsReasoning = false } = request;
    if (!addsReasoning) return [{ path, body, headers }, options];
    if (this.#isRefused) return [{ path, headers, body: withoutReasoning(body) }, options];
    let isAskedAgain = false;
    const otherwise = (status: number, text: string): Buffer | null => {
      isAskedAgain = isRefusalOfIt(status, text);
      return isAskedAgain ? withoutReasoning(body) : null;
    };
    const began = (): void => {
      this.#isRefused ||= isAskedAgain;
      options.began?.();
    };
    return [
      { path, body, headers, otherwise },
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

/** Nothing else changes. */
const withoutReasoning = (body: Buffer): Buffer => {
  tape.scanAny(body);
  const include = memberOf(0, 'include');
  const items = tape.items(include);
  if (items.length === 1) return edited(body, [tape.removed(include)]);
  const added = items.find((item) => spells(item, 'reasoning.encrypted_content'))!;
  const { start, end } = tape.replaced(added, '');
  return edited(body, [removal(body, start, end)]);
};
