import { Command } from 'commander';
import type { z } from 'zod';
import { keyLimitsObject } from '../../admin/keys/key-limits.ts';
import { Failure } from '../../process/failure.ts';
import { withExamples } from '../examples.ts';
import { ServerCalls } from '../server/server-calls.ts';
import { type AskedServer, asking, whichServer } from '../server/which-server.ts';
import { jsonOf, listing, type Output, show, timeText } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';

interface Options extends Output, AskedServer {
  readonly project?: string;
}
type KeyLimits = z.infer<typeof keyLimitsObject>;

const help = `
The windows are in the memory of the running server, so it is asked over HTTP, with an Admin key that has the permission
project_api_keys:read (and projects:read, unless --project says where the key is):
  where      --url, else what DATA_DIR/first-run.json says, else http://HOST:PORT
  Admin key  --key, else ADMIN_API_KEY, else that of DATA_DIR/first-run.json (only without --url)

Examples:
  weir limits key_01jd…
  ADMIN_API_KEY=gwa_… weir limits key_01jd… --url https://gateway.example --project proj_01jd…`;

/** `weir limits` (contract F). */
export const limitsCommand = (terminal: Terminal): Command =>
  asking(withExamples(listing(new Command('limits')), help), 'an Admin key')
    .description('Show what every rate limit of a project key says now, and which refused last')
    .argument('<key>', 'key_…')
    .option('--project <project>', 'proj_… of the key, where it is known; else all projects are looked through')
    .action(async (key: string, options: Options) => {
      const { url, key: adminKey, advice } = await whichServer(terminal, options, 'an Admin key');
      if (adminKey === undefined) throw new Failure(advice);
      const server = new ServerCalls(url, adminKey);
      const found = await find(server, key, options.project);
      const json = jsonOf(terminal, options);
      if (!json) return print(terminal, found, options);
      json.add(found);
      json.end();
    });

const find = async (server: ServerCalls, key: string, project: string | undefined): Promise<KeyLimits> => {
  const limitsIn = async (id: string): Promise<KeyLimits | null> => {
    const path = `/v1/organization/projects/${encodeURIComponent(id)}/api_keys/${encodeURIComponent(key)}/limits`;
    const body = await server.get(path);
    return body === null ? null : keyLimitsObject.parse(body);
  };
  for await (const id of project === undefined ? server.projects() : [project]) {
    const found = await limitsIn(id);
    if (found !== null) return found;
  }
  const where = project === undefined ? 'in this organization' : `in the project ${printable(project)}`;
  throw new Failure(`There is no project key ${printable(key)} ${where}.`);
};

const whose = ({ scope, model }: { readonly scope: string; readonly model?: string | undefined }): string =>
  model === undefined ? words(scope) : `${words(scope)} for ${printable(model)}`;

const words = (metric: string): string => metric.replaceAll('_', ' ');

const print = (terminal: Terminal, limits: KeyLimits, options: Output): void => {
  const rows = [...limits.scopes, ...limits.credits.map((each) => ({ ...each, ofCredits: true }))].flatMap((scope) =>
    scope.windows.map((window) => ({
      scope: whose(scope),
      window: 'ofCredits' in scope ? 'balance reads per minute' : words(window.metric),
      limit: window.limit,
      used: window.used,
      remaining: window.remaining,
      more_in: window.resets_in_seconds === null ? 'when one ends' : `${window.resets_in_seconds} s`,
      id: scope.id,
    })),
  );
  show(terminal, rows, options, { id: 'id' });
  const shared =
    limits.shared_with.length === 0 ? '' : ` Its windows are also those of ${limits.shared_with.join(', ')}.`;
  terminal.out(`Tier ${limits.tier}.${shared} ${lastRefusal(limits, options.utc)}\n`);
};

const lastRefusal = ({ last_refusal: refusal }: KeyLimits, utc: true | undefined): string => {
  if (refusal === null) return 'No limit has refused a request lately.';
  const limits = refusal.limits.map((each) => `${words(each.metric)} of the ${whose(each)}`);
  return `Refused last at ${timeText(refusal.at * 1000, utc)} by: ${limits.join(', ')}.`;
};
