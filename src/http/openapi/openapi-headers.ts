import type { Route } from '../route.ts';
import type { Json } from './components.ts';

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0, format: 'int64' };
const duration = { type: 'string', pattern: '^\\d+(\\.\\d{1,3})?s$' };

/** Of inference. */
const quotaHeaders = (subject: string, what: string): [string, Json][] => [
  [`x-ratelimit-limit-${subject}`, { description: `Limit of ${what}.`, schema: whole }],
  [`x-ratelimit-remaining-${subject}`, { description: `What is left of it.`, schema: whole }],
  [`x-ratelimit-reset-${subject}`, { description: 'Until more is left, as seconds.', schema: duration }],
];

const inference = [
  ...quotaHeaders('requests', 'requests in the window that is closest to its limit'),
  ...quotaHeaders('tokens', 'tokens in the window that is closest to its limit'),
  ...quotaHeaders('project-tokens', 'tokens of the project, where that is the window closest to its limit'),
];

/** Of the administration (contract F.5). */
const administration: [string, Json][] = [
  ['X-RateLimit-Limit', { description: 'The limit that is closest to being reached.', schema: whole }],
  ['X-RateLimit-Remaining', { description: 'What is left of it.', schema: whole }],
  ['X-RateLimit-Reset', { description: 'When more is left, in Unix seconds.', schema: whole }],
  [
    'X-RateLimit-Scope',
    { description: 'Whose limit it is.', schema: { ...text, enum: ['credential', 'organization'] } },
  ],
  [
    'X-RateLimit-Metric',
    { description: 'What it counts.', schema: { ...text, enum: ['requests', 'concurrent_requests'] } },
  ],
];

/** Every response header that the document describes, by name. */
export const responseHeaders: Json = {
  ...Object.fromEntries([...inference, ...administration]),
  'request-id': { description: 'Made by the server; also sent as x-request-id.', schema: text },
  'WWW-Authenticate': {
    description: 'How to prove who asks; of a 403 only where a permission is missing.',
    schema: text,
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { ...whole, minimum: 1 } },
  Upgrade: { description: 'The protocol to go on with.', schema: text },
};

const reference = (name: string): [string, Json] => [name, { $ref: `#/components/headers/${name}` }];
const always = [reference('request-id')];
const ofInference = inference.map(([name]) => reference(name));
const ofAdministration = administration.map(([name]) => reference(name));

/** A 401 has headers of limits if the key is known. */
export const headersOf = ({ access }: Route, status: number): Json => {
  const isLimited = 'permission' in access;
  const limits = isLimited ? (access.credential === 'admin' ? ofAdministration : ofInference) : [];
  const wait = status === 429 || status === 503 ? [reference('Retry-After')] : [];
  const isChallenged = status === 401 ? access.credential !== 'none' : status === 403 && isLimited;
  const challenge = isChallenged ? [reference('WWW-Authenticate')] : [];
  const other = status === 426 ? [reference('Upgrade')] : [];
  return Object.fromEntries([...always, ...limits, ...wait, ...challenge, ...other]);
};
