import { agents } from './agents.ts';
import { claudeCodeVersion } from './claude-code.ts';
import { type Client, clients, refusedByStrict, type Scenario, scenarios } from './clients.ts';
import { frameworkPlays, frameworks } from './frameworks.ts';
import { openaiClients } from './openai-clients.ts';

/** What works with what, as the README says it: from the same lists that the tests play. */

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const versions = ({ packages }: Pick<Client, 'packages'>): string =>
  Object.entries(packages)
    .map(([name, version]) => `\`${name}\` ${version}`)
    .join(', ');

const strictly = ({ plays }: Client): string => {
  const refused = plays.filter((scenario) => refusedByStrict[scenario] !== undefined);
  return refused.length === 0 ? 'all' : `all but ${refused.map((scenario) => scenarios[scenario]).join(', ')}`;
};

const isShared = (all: readonly Client[], scenario: Scenario): boolean =>
  all.every(({ plays }) => plays.includes(scenario));

/** What not every client can do, or is asked to. */
const beyond = (client: Client, all: readonly Client[]): string => {
  const special = client.plays.filter((scenario) => !isShared(all, scenario));
  return special.map((scenario) => scenarios[scenario]).join(', ') || '–';
};

const sharedLine = (all: readonly Client[]): string => {
  const shared = (Object.keys(scenarios) as Scenario[]).filter((scenario) => isShared(all, scenario));
  return `Every client: ${shared.map((scenario) => scenarios[scenario]).join(', ')}.`;
};

const ways = { chat: 'chat completions', responses: 'responses', messages: 'messages' } as const;

/** Of chat completions and responses. */
export const openaiClientsTable = (): string =>
  [
    sharedLine(openaiClients),
    '',
    row('client', 'API', 'version', 'besides', 'what differs'),
    row(...Array<string>(5).fill('---')),
    ...openaiClients.map((client) =>
      row(client.name, ways[client.api], versions(client), beyond(client, openaiClients), client.differs || '–'),
    ),
    ...agents.map(({ name, api, version, differs }) =>
      row(name, api, version, 'only a task with a tool', differs || '–'),
    ),
    ...frameworks.map((framework) =>
      row(
        framework.name,
        framework.apis.map((api) => ways[api]).join(', '),
        versions(framework),
        `only ${frameworkPlays.map((scenario) => scenarios[scenario]).join(', ')}`,
        framework.differs || '–',
      ),
    ),
  ].join('\n');

/** Of the messages API. */
export const clientsTable = (): string => {
  return [
    sharedLine(clients),
    '',
    row('client', 'version', 'besides', 'strict model', 'passing model', 'what differs'),
    row(...Array<string>(6).fill('---')),
    ...clients.map((client) =>
      row(client.name, versions(client), beyond(client, clients), strictly(client), 'all', client.differs || '–'),
    ),
    row(
      'Claude Code, as recorded',
      `\`@anthropic-ai/claude-code\` ${claudeCodeVersion}`,
      'streams with tools, thinking, tool search, web search',
      'all but tool search, web search',
      'all',
      'A strict model has to support reasoning.',
    ),
  ].join('\n');
};
