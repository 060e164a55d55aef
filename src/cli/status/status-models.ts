import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { declaredModels } from '../resources/model.ts';
import { askServer, messageOf } from '../server/ask-server.ts';
import { type Shown, timeText } from '../table/listing.ts';
import { printable } from '../terminal.ts';

/** The `upstreams` of `GET /v1/ready?verbose`. */
export const upstreamHealth = z.record(
  z.string(),
  z.array(z.object({ name: z.string(), state: z.string(), until: z.number().nullable() })),
);
export type UpstreamHealth = z.infer<typeof upstreamHealth>;

const modelList = z.object({
  data: z.array(z.object({ id: z.string(), is_ready: z.boolean(), access: z.object({ available: z.boolean() }) })),
});

export const line = (part: string, name: string, state: string, detail = ''): Shown => ({ part, name, state, detail });

interface Wanted {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly utc: true | undefined;
}

export interface AskedGateway {
  readonly url: string;
  /** Whether `--url` names it: then the models of this environment may not be its own. */
  readonly isNamed: boolean;
  readonly answers: boolean;
  readonly key: string | undefined;
  readonly upstreams: UpstreamHealth;
}

const longestWaitMs = 5_000;

/** The models that the gateway serves. If it cannot be asked: those of MODELS_FILE, or of a named gateway only the breakers. */
export const modelLines = async (gateway: AskedGateway, wanted: Wanted): Promise<Shown[]> => {
  const served = await servedBy(gateway);
  if (typeof served === 'string' && gateway.isNamed)
    return [line('models', 'served', 'not known', served), ...allHealth(gateway.upstreams, wanted)];
  if (typeof served === 'string') {
    const here = `those of MODELS_FILE in this environment: ${served}`;
    return [line('models', 'declared', 'not asked', here), ...(await declaredHere(gateway.upstreams, wanted))];
  }
  const lines = served.flatMap(({ id, is_ready, access }) => {
    const state = is_ready ? 'served' : 'not ready';
    const health = healthLines(id, gateway.upstreams, wanted);
    if (health.length > 0) return health;
    return [line('model', printable(id), state, is_ready && !access.available ? 'not available to this key' : '')];
  });
  return [line('models', 'served', 'told', `${served.length} of them, as the gateway says`), ...lines];
};

/** @returns the reason if they are not known */
const servedBy = async ({ url, answers, key }: AskedGateway) => {
  if (!answers) return 'the gateway does not answer';
  if (key === undefined) return '--key with a project key shows the models of the gateway';
  try {
    const { status, body } = await askServer(`${url}/v1/models`, key, longestWaitMs);
    if (status === 200) return modelList.parse(body).data;
    return printable(`the gateway answered ${status} to the key: ${messageOf(body) ?? 'no reason given'}`);
  } catch (error) {
    return error instanceof z.ZodError ? 'the gateway answers, and not as Weir does' : (error as Error).message;
  }
};

const healthLines = (id: string, upstreams: UpstreamHealth, { utc }: Wanted): Shown[] =>
  (Object.hasOwn(upstreams, id) ? upstreams[id]! : []).map(({ name, state, until }) => {
    const detail = until === null ? '' : `asked again at ${timeText(until * 1000, utc)}`;
    return line('model', printable(`${id} by ${name}`), `breaker ${printable(state)}`, detail);
  });

const allHealth = (upstreams: UpstreamHealth, wanted: Wanted): Shown[] =>
  Object.keys(upstreams).flatMap((id) => healthLines(id, upstreams, wanted));

const declaredHere = async (upstreams: UpstreamHealth, wanted: Wanted): Promise<Shown[]> => {
  const { config, env } = wanted;
  try {
    const declared = await declaredModels(config.MODELS_FILE, env);
    const ids = new Set(declared.map(({ model: { id } }) => id));
    const elsewhere = Object.keys(upstreams).filter((id) => !ids.has(id));
    return [
      ...declared.flatMap(({ model: { id }, upstreams: parts }) => {
        const health = healthLines(id, upstreams, wanted);
        if (health.length > 0) return health;
        const kind = parts[0]?.upstream.kind ?? '';
        return [line('model', id, 'declared', parts.length > 1 ? `${parts.length} upstreams, health not known` : kind)];
      }),
      ...elsewhere.flatMap((id) => healthLines(id, upstreams, wanted)),
    ];
  } catch (error) {
    return [line('model', config.MODELS_FILE ?? '', 'faulty', printable((error as Error).message))];
  }
};
