import type { z } from 'zod';
import { isRefusal, type Refusal } from '../../../errors.ts';
import { Refused } from '../../../http/refused.ts';
import type { ValueBudget } from '../../../http/request/json.ts';
import { metadataOf } from '../../../rules/text/body-text.ts';
import type { RequestText } from '../../../rules/text/request-text.ts';
import type { Asked } from '../../request/body-reader.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { StrictTask } from '../../request/task.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { type MessagesBody, messagesBody } from '../messages/messages-schema.ts';
import { strictCheck } from '../messages/strict-check.ts';
import { strictTask } from '../messages/strict-task.ts';
import { inPlace, isFault, type Translated, type TranslationFault } from './translated.ts';

/** For unbounded answers (contract F.4). */
export const unnamedMaximum = 4096;

/** In the form of messages. */
export interface TranslatedInput extends Asked {
  readonly body: MessagesBody;
  readonly placeOf: Translated['placeOf'];
  readonly metadata: RequestText['metadata'];
  readonly namesMaximum: boolean;
}

/** What is needed after judgement. */
export interface TranslatedRest extends Asked {
  /** Null if the translation was not kept. */
  readonly placeOf: Translated['placeOf'] | null;
}

export const restOfTranslated = ({ model, stream, policy_ids }: TranslatedInput): TranslatedRest => ({
  model,
  stream,
  policy_ids,
  placeOf: null,
});

export interface Translation {
  readonly mostTokens: number;
  readonly budget: ValueBudget;
}

interface TranslationRules<Body extends Asked, Extra> {
  readonly schema: z.ZodType<Body>;
  readonly translate: (body: Body, given: Translation) => Translated | TranslationFault;
  readonly maximumOf: (body: Body) => number | null | undefined;
  /** Beyond the translation. */
  readonly extra: (body: Body) => Extra;
}

export const translatingReader = <Body extends Asked, Extra extends object>({
  schema,
  translate,
  maximumOf,
  extra,
}: TranslationRules<Body, Extra>) => {
  const own = strictCheck(schema, 'chat');
  const asMessages = strictCheck(messagesBody, 'messages');
  return (
    value: unknown,
    budget: ValueBudget,
    hosted: ConnectedModel | undefined,
  ): (TranslatedInput & Extra) | Refused => {
    const checked = own(value);
    if (checked instanceof Refused) return checked;
    const request = checked as Body;
    const { model, policy_ids, stream } = request;
    const mostTokens = hosted?.model.max_output_length ?? 1;
    const translated = translate(request, { mostTokens, budget });
    if (isFault(translated)) return new Refused(bodyRefusal(request, translated));
    const { placeOf } = translated;
    const body = asMessages(translated.body);
    if (body instanceof Refused) return new Refused(inPlace(body.refusal, placeOf));
    const namesMaximum = maximumOf(request) != null;
    const input: TranslatedInput = {
      model,
      policy_ids,
      stream,
      body: body as MessagesBody,
      placeOf,
      metadata: metadataOf(checked as Readonly<Record<string, unknown>>),
      namesMaximum,
    };
    // A spread would give each object its own hidden class.
    return Object.assign(input, extra(request));
  };
};

/** Judges by the model (contract F.2); refusals have the client's places. */
export const judgeTranslated = (
  { body, placeOf, metadata, namesMaximum }: TranslatedInput,
  hosted: ConnectedModel,
): StrictTask | Refusal => {
  const task = strictTask(body, hosted, metadata);
  if (isRefusal(task)) return inPlace(task, placeOf);
  if (namesMaximum) return task;
  const { maxTokens: longest } = task;
  return { ...task, maxTokens: Math.min(unnamedMaximum, longest), grows: true, longest };
};
