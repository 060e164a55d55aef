import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fromPyPI } from '../support/kept.ts';
import { freshDir } from './server.ts';

/** A foreign reader of our OpenAPI document: schemathesis, from PyPI, in a virtual environment of its own. */

const version = '4.32.5';
const run = promisify(execFile);

/** The command, or why there is none. */
export const installed = async (): Promise<{ readonly command: string } | { readonly missing: string }> => {
  const kept = await fromPyPI('schemathesis', [`schemathesis==${version}`]);
  return 'missing' in kept ? kept : { command: join(kept.dir, 'bin', 'schemathesis') };
};

export interface Hunt {
  readonly baseUrl: string;
  readonly key: string;
  /** A regular expression of the paths to ask. */
  readonly paths: string;
  /** Of each operation, made up from its schemas; what the tool derives from them by rule comes on top. */
  readonly examples: number;
}

export interface Finding {
  readonly operation: string;
  readonly check: string;
  readonly status: number;
  readonly answer: string;
}

export interface Found {
  /** Answers that were judged. */
  readonly judged: number;
  readonly findings: readonly Finding[];
  /** What the tool says of itself: an error inside it is no finding, and hides some. */
  readonly errors: readonly string[];
}

interface Recorder {
  readonly label: string;
  readonly checks?: Readonly<Record<string, readonly { readonly name: string; readonly status: string }[]>>;
  readonly interactions?: Readonly<
    Record<
      string,
      { readonly response?: { readonly status_code: number; readonly content?: { readonly $base64?: string } } }
    >
  >;
}

/** Asks with every check there is, and gives what it finds and no schema can say. */
/** A file with the document of a gateway whose models are strict: it refuses what only passing ones take. */
const strictDocument = async (baseUrl: string): Promise<string> => {
  const document = (await (await fetch(`${baseUrl}/v1/openapi.json`)).json()) as {
    readonly components: { readonly schemas: Record<string, object> };
  };
  const { schemas } = document.components;
  for (const name of Object.keys(schemas))
    if (`Strict${name}` in schemas) schemas[name] = { $ref: `#/components/schemas/Strict${name}` };
  const dir = freshDir();
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  return file;
};

export const hunt = async (command: string, { baseUrl, key, paths, examples }: Hunt): Promise<Found> => {
  // What it leaves where it stands goes with the rest.
  const cwd = freshDir();
  mkdirSync(cwd, { recursive: true });
  const report = join(cwd, 'report.ndjson');
  const args = [
    ...[
      'run',
      await strictDocument(baseUrl),
      '--url',
      baseUrl,
      '--include-path-regex',
      paths,
      '-H',
      `Authorization: Bearer ${key}`,
    ],
    ...['--checks', 'all', '--max-examples', `${examples}`, '--continue-on-failure', '--no-shrink'],
    // The same requests each time, and none remembered from a run before; one worker, since several trip over each other.
    ...['--seed', '1', '--generation-database', 'none', '--workers', '1'],
    ...['--report', 'ndjson', '--report-ndjson-path', report],
  ];
  // It ends with 1 where it has found anything, which is for us to judge.
  const said = await run(command, args, { cwd, maxBuffer: 2 ** 28 }).catch(
    (error: Error & { stdout: string }) => error,
  );
  if (!existsSync(report)) throw new Error(`schemathesis has reported nothing:\n${said.stdout}`, { cause: said });
  const events = readFileSync(report, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const recorders = events.flatMap(({ ScenarioFinished }): Recorder[] => ScenarioFinished?.recorder ?? []);
  const judged = recorders.reduce((sum, { checks = {} }) => sum + Object.keys(checks).length, 0);
  const errors = events.flatMap(({ NonFatalError, FatalError }) => {
    const error = NonFatalError ?? FatalError;
    return error ? [JSON.stringify(error)] : [];
  });
  return { judged, findings: recorders.flatMap(findingsOf), errors };
};

const findingsOf = ({ label, checks = {}, interactions = {} }: Recorder): Finding[] =>
  Object.entries(checks).flatMap(([id, judged]) => {
    const { response } = interactions[id] ?? {};
    const status = response?.status_code ?? 0;
    const answer = Buffer.from(response?.content?.$base64 ?? '', 'base64').toString();
    return judged
      .filter((check) => check.status === 'failure' && !isBeyondSchemas(check.name, status, answer))
      .map(({ name }) => ({ operation: label, check: name, status, answer: answer.slice(0, 600) }));
  });

/** What a request that fits its schema may still be refused for: the codes, and the sentences where a code says less. */
const beyondSchemas = [
  // Which objects a list has.
  'invalid_cursor',
  // Which model is asked for: one that passes takes a thread, to its upstream.
  'thread_unsupported_request',
  'Threads are not kept here. Send the whole conversation in "messages".',
  // Whether text in a text is JSON.
  'This JSON is not valid JSON.',
  'Must be a JSON object.',
  // That a message of a conversation says something, in one of its fields or another.
  'Must have at least 1 items.',
  // Whose thoughts an item has: what the gateway has written itself, it knows.
  'Was not written by this service.',
  // What time it is.
  'expires_at_not_future',
  // How many decimals a number has: multiples of a millionth are not exact in binary.
  'Must have at most 6 decimals.',
  // A language of its own.
  'policy_rule_invalid',
  // What one part of a conversation asks of another.
  'No unanswered tool_use of the preceding assistant turn has this id.',
  'The next user turn has no tool_result for this tool_use.',
  'Another tool_use of this turn has this id.',
  'The last message must not be of the assistant when thinking is set.',
  'The last message must not be of the assistant when output_config.format is set.',
  // Which of two numbers is less, and what a number may be beside another; whether two names are equal.
  'Must be less than max_tokens.',
  'Must be after start_time.',
  'Must be at most 31 for buckets of 1d.',
  'Must be at most 168 for buckets of 1h.',
  'Another tool has this name.',
  'Must be the name of the call.',
  'No tool of this name is declared.',
  // The grammar of hosts, which is more than a pattern holds.
  'Must be an https URL.',
  // That what a form's bytes say is UTF-8.
  'The body is not soundly percent-encoded.',
  // How many values all lists of a query have together.
  'The query has more than 100 parameters.',
  // That a header and a body may not both have a credential; which bytes a header of a security scheme may have.
  'The client authenticated in the header and in the body.',
  'The header x-api-key has a byte that is not allowed, or no value.',
];

const isBeyondSchemas = (check: string, status: number, answer: string): boolean => {
  // Refusals before anybody reads the values (no length, a head that is too large), which the checks do not list as such.
  const isUnread = status === 411 || status === 431;
  if (check === 'negative_data_rejection') return isUnread;
  // The document says that a dependency may be away: on a loaded machine the read models are too far behind for a moment.
  if (check === 'not_a_server_error') return status === 503 && answer.includes('"dependency_unavailable"');
  // A key that has been revoked is still shown, and so are its limits; whatever has ended has its history. Permissions that were
  // taken away are those of all models again.
  if (check === 'use_after_free')
    return /^\{"object":"(organization\.project\.api_key|project\.model_permissions)|"object":"organization\.history\.event"/.test(
      answer,
    );
  // A new project has no spend limit.
  if (check === 'ensure_resource_availability') return answer.includes('"spend_limit_not_found"');
  if (check !== 'positive_data_acceptance') return false;
  if (isUnread) return true;
  const reasons = reasonsOf(answer);
  return reasons.length > 0 && reasons.every((reason) => beyondSchemas.includes(reason));
};

/** Each violation by its sentence, else what the error says, by its code where that is in the list. */
const reasonsOf = (answer: string): string[] => {
  if (!answer.startsWith('{')) return [];
  const { detail, error, error_description: description } = JSON.parse(answer);
  if (detail) return detail.map(({ msg }: { msg: string }) => msg);
  if (beyondSchemas.includes(error?.code)) return [error.code];
  const said: string | undefined = description ?? error?.message;
  const place = `${error?.param}: `;
  return [said?.startsWith(place) ? said.slice(place.length) : `${said}`];
};
