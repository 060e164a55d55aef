import type { z } from 'zod';
import { Refused } from '../../../http/refused.ts';
import { checker } from '../../../http/routing/endpoint.ts';
import { bodyReader } from '../../request/body-reader.ts';
import type { Models } from '../../request/named-model.ts';
import { turnsOf } from '../../request/served-tools.ts';
import { type Estimable, estimateInputTokens } from '../../upstream/estimate.ts';
import type { MessagesPassing } from '../../upstream/port.ts';
import { messagesState, messagesStateRefusal } from './messages-state.ts';
import { type PassingBody, type PassingCount, passingBody } from './passing-schema.ts';
import { quickBody } from './quick-passing.ts';
import { strictCheck } from './strict-check.ts';

type Read = 'model' | 'stream' | 'context_management' | 'policy_ids';
export type PassedFields = Pick<PassingBody, Read | 'max_tokens'>;
export type PassedCount = Pick<PassingCount, Read | 'max_tokens'>;

interface Schemas<Strict, Fields extends PassedCount> {
  readonly strict: z.ZodType<Strict>;
  readonly passing: z.ZodType<Fields & PassingCount>;
  readonly needsMaxTokens: boolean;
}

export const messagesReader = <Strict, Fields extends PassedCount>(
  models: Models,
  schemas: Schemas<Strict, Fields>,
) => {
  const strictly = strictCheck(schemas.strict, 'messages');
  const loosely = checker(schemas.passing, 'messages', 'body');
  return bodyReader<Strict, Fields, MessagesPassing>(models, {
    strict: (value) => strictly(value) as Strict | Refused,
    passed: {
      api: 'messages',
      passing: (upstream) => upstream.passing?.messages,
      names: [...Object.keys(passingBody.shape), ...messagesState],
      quick: (tape, bytes, name) => {
        const quick = quickBody(tape, bytes, name, schemas.needsMaxTokens);
        return quick as (typeof quick & { readonly fields: Fields }) | null;
      },
      loose: (value, { model }) => {
        const checked = loosely(value);
        if (checked instanceof Refused) return checked;
        const fields = checked as Fields & PassingCount;
        const refusal = model.dedicated_to === undefined ? messagesStateRefusal(fields) : null;
        if (refusal !== null) return new Refused(refusal);
        const estimatedTokens = estimateInputTokens(fields as unknown as Estimable);
        const { model: name, stream, policy_ids, context_management: managed, max_tokens } = fields;
        const read = { model: name, stream, policy_ids, max_tokens, context_management: managed == null ? null : {} };
        const sumsUp = managed != null && JSON.stringify(managed).includes('"compact') ? managed : null;
        const turns = turnsOf(fields.tools, fields.mcp_servers, sumsUp, fields.compaction);
        return { fields: read as PassedCount as Fields, estimatedTokens, maxTokens: max_tokens ?? 0, turns };
      },
    },
  });
};
