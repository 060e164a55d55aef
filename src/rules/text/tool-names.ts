import { lentDocument as tape } from '../../json/document.ts';
import { isArray, isNull, isObject, type Members, membersOf, objectsIn, textAt } from './members.ts';

const named = (value: number | undefined): readonly string[] => {
  const name = textAt(value) ?? '';
  return name === '' ? [] : [name];
};

const wordOf = (value: number): string =>
  isObject(value) || isArray(value) ? String(tape.value(value)) : tape.text(value);

/** Names of tools that a server is allowed to offer, in any form of the APIs. */
const allowedIn = (server: Members): readonly string[] => {
  const [allowed, configuration, configs] = ['allowed_tools', 'tool_configuration', 'configs'].map((name) =>
    server.get(name),
  );
  const listed = isObject(allowed)
    ? membersOf(allowed).get('tool_names')
    : !isNull(allowed)
      ? allowed
      : isObject(configuration)
        ? membersOf(configuration).get('allowed_tools')
        : undefined;
  if (isArray(listed)) return tape.items(listed).map(wordOf);
  return isObject(configs) ? membersOf(configs).names : [];
};

/** All names under which a tool is declared, because the upstream chooses among them. */
const namesIn = (tool: Members): readonly string[] => {
  const inner = tool.values.flatMap((value) => (isObject(value) ? named(membersOf(value).get('name')) : []));
  const tools = tool.get('tools');
  const offered = isArray(tools) ? objectsIn(tools).flatMap(namesIn) : [];
  const all = new Set([...named(tool.get('name')), ...inner, ...allowedIn(tool), ...offered]);
  if (all.size > 0) return [...all];
  const type = tool.get('type');
  return [
    ...named(tool.get('server_label')),
    ...named(tool.get('mcp_server_name')),
    isNull(type) ? '' : wordOf(type!),
  ].slice(0, 1);
};

/** A server's name counts only if none of its tools is named. */
const offeredBy = (server: Members): readonly string[] => {
  const allowed = allowedIn(server);
  return allowed.length > 0 ? allowed : namesIn(server);
};

/** The names of the tools that a body declares. */
export const toolNamesIn = (body: Members): readonly string[] => [
  ...objectsIn(body.get('tools')).flatMap(namesIn),
  ...objectsIn(body.get('functions')).flatMap(namesIn),
  ...objectsIn(body.get('mcp_servers')).flatMap(offeredBy),
];
