import type { KeyPlan, RequestPlan } from './gen/requests.ts';
import type { Arrivals } from './gen/schedule.ts';
import type { Contender } from './measure.ts';
import type { TierMix } from './options.ts';
import { contender } from './scenarios/plans.ts';
import { helloRequest, messageRequest, modelsRequest } from './scenarios/requests.ts';
import { forwarded, weirUnderLoad } from './scenarios/weir-under-load.ts';
import type { Crowd } from './seed/beside.ts';
import { plainBehaviour } from './sim/behaviour.ts';
import type { Stage } from './stage.ts';
import { addressOf, noKeys, type Target } from './target.ts';

/** What can be sent as a load of one's own making. */
export const loadNames = ['hello', 'models', 'messages', 'stream'] as const;
export type LoadName = (typeof loadNames)[number];

/** A load put together on the command line, on a gateway of the bench's own or on one at an address. */
export interface LoadOptions {
  readonly load: LoadName;
  readonly arrivals: Arrivals;
  readonly connections: number;
  readonly keys: number;
  readonly zipf: number;
  readonly tiers: TierMix;
  /** Share of the messages that are streamed. */
  readonly stream: number;
  readonly bodyBytes: number;
  readonly maxTokens: number;
  readonly timeoutMs: number;
  /** Null starts a gateway; the model is the one that requests name. */
  readonly at: {
    readonly url: URL;
    readonly keys: KeyPlan;
    readonly model: string;
    readonly pid: number | null;
  } | null;
}

/** Of an organization: two of each of two projects, so that what limits is the organization, the widest of the three. */
const perOrganization = 4;

const requestsOf = ({ load, stream, bodyBytes, maxTokens }: LoadOptions, model: string): readonly RequestPlan[] => {
  if (load === 'hello') return [helloRequest];
  if (load === 'models') return [modelsRequest];
  const share = load === 'stream' ? 1 : stream;
  const message = { model, bodyBytes, maxTokens };
  return [
    messageRequest({ ...message, stream: false, weight: 1 - share }),
    messageRequest({ ...message, stream: true, weight: share }),
  ].filter(({ weight }) => weight > 0);
};

/** Organizations of each tier with as many keys in all as were asked for. */
export const crowdsOf = (keys: number, mix: TierMix): readonly Crowd[] => {
  const total = mix.reduce((sum, { weight }) => sum + weight, 0);
  return mix.map(({ tier, weight }) => {
    const wanted = Math.max(1, Math.round((keys * weight) / total));
    const organizations = Math.ceil(wanted / perOrganization);
    return { organizations, projects: 2, keys: Math.max(2, Math.round(wanted / organizations)), tier };
  });
};

const targetAt = ({ url, keys, pid }: NonNullable<LoadOptions['at']>): Target => ({
  name: url.host,
  address: addressOf(url),
  pid,
  keys,
  lost: () => undefined,
});

/** Requests name the host that they go to: a server may serve several. */
const forHost = (request: RequestPlan, host: string): RequestPlan => ({
  ...request,
  before: request.before.replace('Host: 127.0.0.1', `Host: ${host}`),
});

/** The load as a contender; starts what it needs. */
export const openLoad = async (stage: Stage, options: LoadOptions): Promise<Contender> => {
  const { load, arrivals, connections, timeoutMs, keys, tiers, zipf, at } = options;
  const plan = { arrivals, connections, timeoutMs, expected: null, seed: stage.settings.seed };
  const purpose = arrivals.is === 'closed' ? 'work' : 'times';
  if (at) {
    const requests = requestsOf(options, at.model).map((request) => forHost(request, at.url.host));
    return contender('load', `${load} at ${at.url.host}`, targetAt(at), { ...plan, requests }, null, purpose);
  }
  if (load === 'hello') {
    const target = { ...(await stage.bare()), keys: noKeys };
    return contender('load', 'bare uWebSockets.js', target, { ...plan, requests: [helloRequest] }, null, purpose);
  }
  const sim = load === 'models' ? null : await stage.sim(plainBehaviour);
  const loaded = await weirUnderLoad(stage, { crowds: crowdsOf(keys, tiers), zipf, ...(sim ? { sim } : {}) });
  const target = { ...loaded.weir, keys: loaded.keys };
  const isProxied = sim !== null && purpose === 'work';
  const requests = requestsOf(options, forwarded);
  return contender('load', `Weir, ${load}`, target, { ...plan, requests }, null, isProxied ? 'proxied' : purpose);
};
