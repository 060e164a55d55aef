import type { Random } from '../random.ts';
import { type Answer, headerOf } from './answers.ts';

/** Whom the requests of an attacker may name. */
export interface Keys {
  /** Of a project whose limits are small. */
  readonly project: string;
  readonly admin: string;
}

/** One request of a pipeline. */
export interface Asked {
  readonly name: string;
  readonly text: string;
  readonly isHead: boolean;
  /** It is the last that may be answered on its connection. */
  readonly isLast: boolean;
  /** What follows it counts as its body, or as nothing that can be read. */
  readonly isTorn: boolean;
  /** What an answer to it cannot be; undefined where it fits. */
  readonly misfit: (answer: Answer) => string | undefined;
  /** Of the body; called at the end of the answer. */
  readonly misfitOfBody?: (answer: Answer) => string | undefined;
}

/** Origins that an answer repeats, so that each answer names its request. */
export const origins = (of: 'attackers' | 'clients', count = 64): string[] =>
  Array.from({ length: count }, (_, i) => `https://${of}-${i}.example`);

const attackers = origins('attackers');
const json = 'Content-Type: application/json\r\n';
/** The gateway drains. */
const draining = 503;

interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly line: string;
  /** Header lines. */
  readonly lines?: (random: Random, keys: Keys) => string;
  /** Undefined where the request has none. */
  readonly body?: (random: Random, n: number) => string;
  readonly framing?: 'length' | 'chunked' | 'short' | 'beyond' | 'none';
  readonly statuses: readonly number[];
  readonly says?: (answer: Answer, n: number) => boolean;
  /** Answers name no origin. */
  readonly isUnmarked?: boolean;
  readonly isTorn?: boolean;
  /** Its answer is so large that a pipeline has few of them. */
  readonly isLarge?: boolean;
}

const wrongKey = (random: Random): string =>
  `Authorization: Bearer gwp_wrong\r\nX-Forwarded-For: 198.18.${random.between(0, 255)}.${random.between(0, 255)}\r\n`;
const rightKey = (_: Random, { project }: Keys): string => `Authorization: Bearer ${project}\r\n`;
const adminKey = (_: Random, { admin }: Keys): string => `Authorization: Bearer ${admin}\r\n`;
const jsonWith = (lines: (random: Random, keys: Keys) => string) => (random: Random, keys: Keys) =>
  json + lines(random, keys);

/** A question to the model of the torture, whose provider repeats the number. */
export const question = (n: number, isStream: boolean): string =>
  JSON.stringify({
    model: 'echo',
    max_tokens: 64,
    ...(isStream && { stream: true }),
    messages: [{ role: 'user', content: `request ${n} ` }],
  });
export const reply = (n: number): string => `the answer to ${n}.`;

const some = (random: Random): string => 'x'.repeat(random.between(1, 400));
const asked = (random: Random, n: number): string => question(n, random.next() < 0.3);
const oks = [200, 429];
const isOk = ({ body }: Answer): boolean => body.includes('"status":"ok"');
const repeats = (answer: Answer, n: number): boolean => answer.status !== 200 || answer.body.includes(reply(n));
const unreadable = { isTorn: true, isUnmarked: true } as const;

const kinds: readonly Kind[] = [
  { name: 'root', weight: 4, line: 'GET /', statuses: [404] },
  { name: 'health', weight: 8, line: 'GET /v1/health', statuses: [200], says: isOk },
  { name: 'ready', weight: 4, line: 'GET /v1/ready', statuses: [200, 503] },
  { name: 'unknown path', weight: 8, line: 'GET /v1/nowhere', statuses: [404] },
  { name: 'document', weight: 4, line: 'GET /v1/openapi.json', statuses: [200], isLarge: true },
  {
    name: 'document, known',
    weight: 3,
    line: 'GET /v1/openapi.json',
    lines: () => 'If-None-Match: *\r\n',
    statuses: [304],
  },
  { name: 'models, no key', weight: 4, line: 'GET /v1/models', statuses: [401] },
  { name: 'models', weight: 4, line: 'GET /v1/models', lines: rightKey, statuses: oks },
  { name: 'models, wrong key', weight: 3, line: 'GET /v1/models', lines: wrongKey, statuses: [401, 429] },
  { name: 'unknown model', weight: 2, line: 'GET /v1/models/none', lines: rightKey, statuses: [404, 429] },
  { name: 'head of health', weight: 3, line: 'HEAD /v1/health', statuses: [200] },
  { name: 'head of document', weight: 3, line: 'HEAD /v1/openapi.json', statuses: [200] },
  { name: 'head of unknown path', weight: 2, line: 'HEAD /v1/nowhere', statuses: [404] },
  { name: 'options', weight: 4, line: 'OPTIONS /v1/messages', statuses: [204] },
  { name: 'method', weight: 2, line: 'DELETE /v1/messages', statuses: [405] },
  { name: 'method, body', weight: 2, line: 'PUT /v1/messages', body: some, statuses: [405] },
  { name: 'body of GET', weight: 2, line: 'GET /v1/health', body: some, statuses: [200, 400, 413], says: () => true },
  { name: 'post to unknown path', weight: 3, line: 'POST /v1/nowhere', body: some, statuses: [404] },
  {
    name: 'post to unknown path, short',
    weight: 2,
    line: 'POST /v1/nowhere',
    body: some,
    framing: 'short',
    statuses: [404, 408],
  },
  { name: 'post, no key', weight: 3, line: 'POST /v1/messages', lines: () => json, body: asked, statuses: [401] },
  {
    name: 'post, no key, short',
    weight: 2,
    line: 'POST /v1/messages',
    lines: () => json,
    body: asked,
    framing: 'short',
    statuses: [401, 408],
  },
  {
    name: 'post, wrong key',
    weight: 3,
    line: 'POST /v1/messages',
    lines: jsonWith(wrongKey),
    body: asked,
    statuses: [401, 429],
  },
  {
    name: 'post',
    weight: 6,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    body: asked,
    statuses: oks,
    says: repeats,
  },
  {
    name: 'post, chunked',
    weight: 2,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    body: asked,
    framing: 'chunked',
    statuses: oks,
    says: repeats,
  },
  {
    name: 'post, short',
    weight: 2,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    body: asked,
    framing: 'short',
    statuses: [400, 408, 429],
  },
  {
    name: 'post, no JSON',
    weight: 2,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    body: some,
    statuses: [400, 429],
  },
  {
    name: 'post, no length',
    weight: 1,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    statuses: [400, 411, 429],
  },
  {
    name: 'post, too large',
    weight: 2,
    line: 'POST /v1/messages',
    lines: jsonWith(rightKey),
    body: some,
    framing: 'beyond',
    statuses: [413, 429],
  },
  {
    name: 'post, no key, too large',
    weight: 1,
    line: 'POST /v1/messages',
    lines: () => json,
    body: some,
    framing: 'beyond',
    statuses: [401, 413],
  },
  { name: 'projects', weight: 2, line: 'GET /v1/organization/projects', lines: adminKey, statuses: oks },
  {
    name: 'project, no JSON',
    weight: 1,
    line: 'POST /v1/organization/projects',
    lines: jsonWith(adminKey),
    body: some,
    statuses: [400, 429],
  },
  {
    name: 'token',
    weight: 1,
    line: 'POST /v1/oauth/token',
    lines: () => 'Content-Type: application/x-www-form-urlencoded\r\n',
    body: () => 'grant_type=client_credentials&client_id=none&client_secret=none',
    statuses: [400, 401, 429],
    isUnmarked: true,
  },
  {
    name: 'chunks with extensions',
    weight: 0.3,
    line: 'POST /v1/messages',
    lines: (random, keys) => `${json}${rightKey(random, keys)}Transfer-Encoding: chunked\r\n`,
    framing: 'none',
    body: () => '5;a=b\r\nhello\r\n0\r\n\r\n',
    statuses: [400, 408, 429],
    ...unreadable,
  },
  {
    name: 'long head',
    weight: 0.3,
    line: 'GET /v1/health',
    lines: () => `X-Long: ${'x'.repeat(17_000)}\r\n`,
    statuses: [431],
    ...unreadable,
  },
  { name: 'garbage', weight: 0.3, line: 'GET\r\nnothing here', statuses: [400, 405, 505], ...unreadable },
];

const chunked = (body: string, random: Random): string => {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = random.between(1, body.length - at);
    text += `${size.toString(16)}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n\r\n`;
};

const framed = (body: string, framing: Kind['framing'], random: Random): readonly [string, string] => {
  if (framing === 'none') return ['', body];
  if (framing === 'chunked') return ['Transfer-Encoding: chunked\r\n', chunked(body, random)];
  const more = framing === 'short' ? random.between(1, 2_000) : framing === 'beyond' ? 1e9 : 0;
  return [`Content-Length: ${body.length + more}\r\n`, body];
};

const request = (kind: Kind, n: number, isClosing: boolean, random: Random, keys: Keys): Asked => {
  const { name, statuses, says, isUnmarked = false, framing } = kind;
  const isTorn = kind.isTorn === true || framing === 'short' || framing === 'beyond';
  const origin = !isUnmarked && random.next() < 0.8 ? random.pick(attackers) : undefined;
  const [length, body] = kind.body ? framed(kind.body(random, n), framing, random) : ['', ''];
  const lines = [
    origin === undefined ? '' : `Origin: ${origin}\r\n`,
    isClosing ? 'Connection: close\r\n' : '',
    kind.lines?.(random, keys) ?? '',
    length,
  ].join('');
  return {
    name,
    text: `${kind.line} HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`,
    isHead: kind.line.startsWith('HEAD'),
    isLast: isClosing,
    isTorn,
    misfit(answer) {
      const { status } = answer;
      if (!statuses.includes(status) && status !== draining) return `${name} was answered ${status}`;
      const named = headerOf(answer, 'access-control-allow-origin');
      return isUnmarked || named === origin ? undefined : `${name} of ${origin} was answered for ${named}`;
    },
    ...(says && {
      misfitOfBody: (answer) =>
        answer.status === draining || says(answer, n) ? undefined : `${name} was answered ${answer.body.slice(0, 200)}`,
    }),
  };
};

const weights = kinds.reduce((sum, { weight }) => sum + weight, 0);
const anyKind = (random: Random): Kind => {
  let at = random.next() * weights;
  for (const kind of kinds) {
    at -= kind.weight;
    if (at < 0) return kind;
  }
  return kinds[0]!;
};

/** From 1 to 10,000, most of them short. */
const longest = 4;
const lengthOf = (random: Random): number => Math.max(1, Math.round(10 ** (longest * random.next() ** 2)));
const mostLarge = 3;

/**
 * Requests of one connection: of all kinds, or many of a few. Some ask for the end of the connection, anywhere.
 * @param number of the next question to a model
 */
export const anyPipeline = (random: Random, keys: Keys, number: () => number): Asked[] => {
  const length = lengthOf(random);
  const few = random.next() < 0.5 ? undefined : Array.from({ length: random.between(1, 3) }, () => anyKind(random));
  const closing = random.next() < 0.5 ? 0 : random.next() < 0.5 ? 1 / length : 0.3;
  let large = 0;
  return Array.from({ length }, () => {
    let kind = few ? random.pick(few) : anyKind(random);
    if (kind.isLarge && ++large > mostLarge) kind = kinds[1]!;
    return request(kind, kind.body ? number() : 0, random.next() < closing, random, keys);
  });
};

const scrapes: readonly Kind[] = [
  { name: 'scrape', weight: 1, line: 'GET /metrics', statuses: [200], isUnmarked: true },
  { name: 'head of scrape', weight: 1, line: 'HEAD /metrics', statuses: [200], isUnmarked: true },
  { name: 'elsewhere', weight: 1, line: 'GET /', statuses: [404], isUnmarked: true },
  { name: 'post', weight: 1, line: 'POST /metrics', body: some, statuses: [405], isUnmarked: true },
  {
    name: 'post, short',
    weight: 1,
    line: 'POST /metrics',
    body: some,
    framing: 'short',
    statuses: [400, 405, 408],
    isUnmarked: true,
  },
];

/** Requests at the port of the metrics. */
export const anyScrapes = (random: Random, keys: Keys): Asked[] => {
  const length = random.next() < 0.1 ? random.between(1, 1_000) : random.between(1, 30);
  return Array.from({ length }, () => request(random.pick(scrapes), 0, random.next() < 0.02, random, keys));
};

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Bytes for a port that speaks HTTP/2: frames of any kind, true and torn, or anything at all. */
export const anyFrames = (random: Random): string => {
  const noise = (length: number): string =>
    String.fromCharCode(...Array.from({ length }, () => random.between(0, 255)));
  const frame = (): string => {
    const length = random.between(0, 200);
    const said = random.next() < 0.8 ? length : random.between(0, 0xffffff);
    const head = [said >> 16, said >> 8, said, random.between(0, 11), random.between(0, 255)].map((each) => each & 255);
    return String.fromCharCode(...head, 0, 0, 0, random.between(0, 5)) + noise(length);
  };
  if (random.next() < 0.2) return noise(random.between(1, 3_000));
  const settings = '\0\0\0\x04\0\0\0\0\0';
  return preface + settings + Array.from({ length: random.between(0, 40) }, frame).join('');
};
