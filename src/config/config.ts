import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { sinkOf } from '../audit/log/sinks/sink-address.ts';
import { secretForm } from '../secrets/master-secrets.ts';
import { Secret } from '../secrets/secret.ts';

const text = z.string().min(1);
const entriesOf = (list: string): string[] => list.split(',').map((entry) => entry.trim());
const list = z.string().transform(entriesOf);
const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(least).max(most));

/** An IP address, or a network such as 10.0.0.0/8. */
const isNetwork = (entry: string): boolean => {
  const [address = '', bits, ...more] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
};

/** The origin as browsers send it; undefined if the text is not the URL of a web page. */
const originOf = (text: string): string | undefined => {
  if (!/^https?:\/\/[^*@]+$/i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text).origin;
};

const noOrigin = (text: string): string => {
  const meant = originOf(text);
  const fault = `has ${JSON.stringify(text)}, which is not an origin as browsers send it: scheme://host[:port]`;
  return meant === undefined ? fault : `${fault}, so ${meant}`;
};

/** The upper bounds are those of src/limits/record/window-limits.ts. */
const rpm = (byDefault: number) => wholeNumber(1, 60_000).default(byDefault);
const concurrent = (byDefault: number) => wholeNumber(1, 65_535).default(byDefault);
const secret = () =>
  z
    .string()
    .regex(secretForm, { error: 'must be 64 hexadecimal characters' })
    .transform((value) => new Secret(value))
    .optional();

/** Every variable of the environment; `weir --help` prints the descriptions. */
const variables = {
  HOST: text.default('127.0.0.1').describe('Address to listen on'),
  PORT: wholeNumber(0, 65_535).default(8080).describe('Port to listen on; 0 takes a free one'),
  TLS_CERT_FILE: text
    .optional()
    .describe(
      'Certificate of the server with its chain, in PEM; read again when it changes (default: HTTP without TLS)',
    ),
  TLS_KEY_FILE: text.optional().describe('Private key of that certificate, in PEM without a password'),
  PUBLIC_URL: z
    .string()
    .regex(/^https?:\/\/[^\s/?#]+(\/[^\s?#]*[^\s/?#])?$/, {
      error: 'must be an http:// or https:// URL without a slash at its end',
    })
    .optional()
    .describe('Base URL that clients use; shown in the OAuth metadata (default: http(s)://<HOST>:<PORT>)'),
  DATA_DIR: text.default('./data').describe('Folder of the events and the read models'),
  SECRETS_DIR: text.optional().describe('Folder of the pepper and the master key (default: <DATA_DIR>.secrets)'),
  PEPPER: secret().describe('Secret in the digest of every key: 64 hexadecimal characters (default: in SECRETS_DIR)'),
  PREVIOUS_PEPPER: secret().describe('The previous pepper, for keys that were made under it; accepted beside PEPPER'),
  MASTER_KEY: secret().describe(
    'Encrypts the keys in answers that may be repeated, and signs the audit log: 64 hexadecimal characters (default: in SECRETS_DIR)',
  ),
  EVENTSTORE_URL: z
    .string()
    .regex(/^(esdb|kurrentdb)(\+discover)?:\/\/.+/, {
      error: 'must be a connection string: esdb://, esdb+discover://, kurrentdb:// or kurrentdb+discover://',
    })
    .optional()
    .describe('Connection string of an EventStoreDB or KurrentDB (default: the embedded store in DATA_DIR)'),
  GATEWAYS: wholeNumber(1, 1_000)
    .default(1)
    .describe(
      'Gateways on one event store: each has this part of the limits of projects, models and keys, and of what a spend limit has left',
    ),
  MODELS_FILE: text.optional().describe('JSON file that declares the models (default: two simulated ones)'),
  TIERS_FILE: text
    .optional()
    .describe('JSON file with the limits of the tiers; read again when it changes (default: the documented ones)'),
  ADMIN_CREDENTIAL_RPM: rpm(300).describe('Administration requests per minute of one credential, 1 to 60000'),
  ADMIN_CREDENTIAL_CONCURRENT: concurrent(10).describe(
    'Administration requests in flight of one credential, 1 to 65535',
  ),
  ADMIN_ORGANIZATION_RPM: rpm(600).describe('Administration requests per minute of one organization, 1 to 60000'),
  ADMIN_ORGANIZATION_CONCURRENT: concurrent(20).describe(
    'Administration requests in flight of one organization, 1 to 65535',
  ),
  TRUSTED_PROXIES: z
    .string()
    .superRefine((networks, context) => {
      const wrong = entriesOf(networks).find((entry) => !isNetwork(entry));
      if (wrong !== undefined)
        context.addIssue(`has ${JSON.stringify(wrong)}, which is neither an address nor a network`);
    })
    .optional()
    .describe('Addresses and networks whose X-Forwarded-For is trusted, separated by commas (default: none)'),
  CORS_ORIGINS: list
    .superRefine((origins, context) => {
      const wrong = origins.find((origin) => originOf(origin) !== origin);
      if (wrong !== undefined) context.addIssue(noOrigin(wrong));
    })
    .optional()
    .describe(
      'Origins whose web pages may call Weir, except policy and token routes, separated by commas (default: none)',
    ),
  AUDIT_SINKS: list
    .superRefine((sinks, context) => {
      const wrong = sinks.filter((sink) => sinkOf(sink) === undefined);
      if (wrong.length > 0)
        context.addIssue(
          `has ${wrong.length === 1 ? '1 entry that is' : `${wrong.length} entries that are`} neither an absolute path, an https:// URL nor witness+https://…#<verifier key>`,
        );
    })
    .transform((sinks) => sinks.flatMap((sink) => sinkOf(sink) ?? []))
    .optional()
    .describe(
      "Where signed checkpoints of the audit log go, out of reach of the store's operator, separated by commas: files (one log each), https:// URLs, witnesses",
    ),
  REPLAY_TEXT_MINUTES: wholeNumber(0, 1_440)
    .default(0)
    .describe(
      'Minutes that the text of requests is kept in memory for replays of policies; 64 MiB at most, 0 for none',
    ),
  OWNED_BY: text.default('weir').describe('The operator, as the model list names it'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Lowest level that is logged to standard error'),
  LOG_FORMAT: z
    .enum(['pretty', 'json'])
    .optional()
    .describe('How the log is written (default: pretty in a terminal, else json)'),
  ACCESS_LOG: z
    .string()
    .transform((text) => ({ off: 0, on: 1 })[text] ?? (/^(0(\.\d+)?|1(\.0+)?)$/.test(text) ? Number(text) : Number.NaN))
    .pipe(z.number({ error: 'must be off, on or the part of the requests to log, such as 0.01' }))
    .prefault('off')
    .describe('Whether requests are logged: off, on, or a share of them, such as 0.01 (default: off)'),
  METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe('Port of GET /metrics for Prometheus; 0 takes a free one (default: no metrics)'),
  METRICS_HOST: text.default('127.0.0.1').describe('Address of /metrics, which is for the operator alone'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, {
      error: 'must be an http:// or https:// URL without a user, a query or a fragment',
    })
    .optional()
    .describe('URL of the collector of traces, without /v1/traces (default: no traces)'),
  PROJECTION_WAIT_MS: wholeNumber(0, 60_000)
    .default(2000)
    .describe('How long an answer may wait until its change is visible in lists'),
  MAX_STALENESS: wholeNumber(2, 86_400)
    .optional()
    .describe(
      "Maximum age in seconds of the gateway's copy of the keys; older: every credential is 503 (default: no limit)",
    ),
  DRAIN_MS: wholeNumber(0, 600_000).default(30_000).describe('How long answers in flight may take after SIGTERM'),
} as const;

const schema = z.object(variables);

export type Config = Readonly<Omit<z.infer<typeof schema>, 'SECRETS_DIR'> & { SECRETS_DIR: string }>;

/** The message lists every fault. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig';
  constructor(faults: readonly string[], cause?: unknown) {
    super(`The configuration is not valid:\n${faults.map((fault) => `  ${fault}`).join('\n')}`, { cause });
  }
}

type Given = Readonly<Record<string, string | undefined>>;

const pairFaults = (given: Given, one: string, other: string): string[] => {
  const missing = [one, other].filter((name) => given[name] === undefined);
  return missing.length === 1
    ? missing.map((name) => `${name}: must be given where ${name === one ? other : one} is`)
    : [];
};

const previousPepperFaults = ({ PEPPER, PREVIOUS_PEPPER }: Given): string[] => {
  if (PREVIOUS_PEPPER === undefined) return [];
  if (PEPPER === undefined) return ['PREVIOUS_PEPPER: is for beside PEPPER, which is not given'];
  return PEPPER === PREVIOUS_PEPPER ? ['PREVIOUS_PEPPER: is the same as PEPPER'] : [];
};

/** An empty variable counts as absent. @throws BadConfig with every fault */
export const readConfig = (env: Given): Config => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const faults = [
    ...(parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? []),
    // The secrets come all from the environment or all from the folder: a mixture would not match.
    ...pairFaults(given, 'PEPPER', 'MASTER_KEY'),
    ...previousPepperFaults(given),
    ...pairFaults(given, 'TLS_CERT_FILE', 'TLS_KEY_FILE'),
  ];
  if (!parsed.success || faults.length > 0) throw new BadConfig(faults);
  const DATA_DIR = resolve(parsed.data.DATA_DIR);
  return Object.freeze({
    ...parsed.data,
    DATA_DIR,
    SECRETS_DIR: resolve(parsed.data.SECRETS_DIR ?? `${DATA_DIR}.secrets`),
  });
};

/** For a server on every address, one that can be pasted. */
const loopbacks: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The gateway's own URL on its machine, without proxies. */
export const listenUrl = ({ HOST, TLS_CERT_FILE }: Config, port: number): string => {
  const host = loopbacks[HOST] ?? HOST;
  return `${TLS_CERT_FILE === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

export const describeConfig = (): string => {
  const width = Math.max(...Object.keys(variables).map((name) => name.length));
  return Object.entries(variables)
    .map(([name, variable]) => {
      const byDefault = variable instanceof z.ZodDefault ? ` (default: ${variable.def.defaultValue})` : '';
      return `  ${name.padEnd(width)}  ${variable.description ?? ''}${byDefault}`;
    })
    .join('\n');
};
