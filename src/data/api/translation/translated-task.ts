import type { z } from 'zod';
import { isRefusal, type Refusal } from '../../../errors.ts';
import { Refused } from '../../../http/refused.ts';
import type { ValueBudget } from '../../../http/request/json.ts';
import { metadataOf } from '../../../rules/text/body-text.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import { inPlace } from '../../request/in-place.ts';
import type { RequestRules } from '../../request/prepare.ts';
import { type Judged, preparedStrictly } from '../../request/prepared.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { judgedMessages } from '../messages/messages-rules.ts';
import { type MessagesBody, translatedMessages } from '../messages/messages-schema.ts';
import { strictCheck } from '../messages/strict-check.ts';
import { isFault, type Translated, type TranslationFault } from './translated.ts';

/** For unbounded answers (contract F.4). */
export const unnamedMaximum = 4096;

export interface Translation {
  readonly mostTokens: number;
  readonly budget: ValueBudget;
}

interface Named {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly policy_ids?: readonly string[] | null | undefined;
}

interface TranslationRules<Body extends Named, Said> {
  readonly schema: z.ZodType<Body>;
  readonly translate: (body: Body, given: Translation) => Translated | TranslationFault;
  readonly maximumOf: (body: Body) => number | null | undefined;
  readonly said: (body: Body) => Said;
  /** By the model, beyond the rules of messages. */
  readonly refusal?: (body: Body, hosted: ConnectedModel) => Refusal | null;
}

/** Reads a request as one of messages; refusals have the client's places. */
export const translatedRules = <Body extends Named, Said>({
  schema,
  translate,
  maximumOf,
  said,
  refusal = () => null,
}: TranslationRules<Body, Said>): RequestRules<Said>['strict'] => {
  const own = strictCheck(schema, 'chat');
  const asMessages = strictCheck(translatedMessages, 'messages');
  return (value, hosted, budget) => {
    const checked = own(value);
    if (checked instanceof Refused) return checked;
    const request = checked as Body;
    const translated = translate(request, { mostTokens: hosted?.model.max_output_length ?? 1, budget });
    if (isFault(translated)) return new Refused(bodyRefusal(request, translated));
    const { placeOf } = translated;
    const body = asMessages(translated.body);
    if (body instanceof Refused) return new Refused(inPlace(body.refusal, placeOf));
    const { model, stream, policy_ids: named } = request;
    const asked = { model, isStreamed: stream === true, named: named ?? [], said: said(request), placeOf };
    const metadata = metadataOf(request as Readonly<Record<string, unknown>>);
    const judged = (by: ConnectedModel): Judged | Refusal => {
      const task = judgedMessages(body as MessagesBody, by, metadata);
      if (isRefusal(task)) return inPlace(task, placeOf);
      if (maximumOf(request) != null) return task;
      const { maxTokens: longest } = task;
      const cut = { member: null, answers: 1, least: by.upstream.leastTokens ?? 1 };
      return { ...task, maxTokens: Math.min(unnamedMaximum, longest), grows: true, longest, cut };
    };
    return preparedStrictly(asked, hosted, (by) => refusal(request, by) ?? judged(by));
  };
};
