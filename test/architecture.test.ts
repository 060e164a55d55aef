import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Who may import whom. Folders of our own and packages alike; `node:` modules are everybody's. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/kernel': [
    'src/folder',
    'src/lmdb-pages',
    'src/clock',
    'src/telemetry',
    'xstate',
    'msgpackr',
    'lmdb',
    'canonicalize',
    'tsx',
  ],
  'src/eventstoredb': ['src/kernel', 'src/clock', 'src/telemetry', '@eventstore/db-client'],
  'src/embedded': ['src/lmdb-pages', 'lmdb', 'tsx'],
  'src/lmdb-pages': [],
  'src/domain': ['src/apis', 'src/tokens', 'src/kernel', 'src/errors', 'zod'],
  projections: ['src/audit', 'src/domain', 'src/kernel', 'src/merkle', 'src/errors', 'src/ids'],
  'src/json': [],
  'src/data/upstream': [
    'src/aliases',
    'src/tokens',
    'src/json',
    'src/cancellation',
    'src/clock',
    'src/secrets',
    'src/telemetry',
    'zod',
    'canonicalize',
  ],
  'src/http': [
    'src/apis',
    'src/tokens',
    'src/cancellation',
    'src/errors',
    'src/json',
    'src/telemetry',
    'src/version',
    'src/clock',
    'zod',
    'uWebSockets.js',
    'uWebSockets.js-node24',
  ],
  // Of the accounts the hot path has the journal on the disk; what is sent from it to the store is not its affair.
  'src/data/account': [
    'src/limits',
    'src/apis',
    'src/tokens',
    'src/domain',
    'src/kernel',
    'src/http',
    'src/data/upstream',
    'src/clock',
    'src/folder',
  ],
  // What is sent from the journal to the store.
  'src/usage': ['src/tokens', 'src/data/account', 'src/domain', 'src/kernel', 'src/clock', 'src/telemetry'],
  'src/data/access': [
    'src/aliases',
    'src/data/account',
    'src/http',
    'src/limits',
    'projections',
    'src/kernel',
    'src/errors',
    'src/clock',
    'src/ids',
  ],
  // What is in force, and what it decides: the read model of policies before the rules that they hold.
  'src/data/policy': ['src/rules', 'projections', 'src/domain', 'src/kernel', 'src/errors', 'src/clock', 'src/ids'],
  'src/data/questions': ['src/json', 'src/data/upstream'],
  'src/data/api': [
    'src/data/questions',
    'src/tokens',
    'src/data/access',
    'src/data/policy',
    'src/data/reply',
    'src/data/request',
    'src/data/upstream',
    'src/http',
    'src/json',
    'src/rules',
    'src/clock',
    'src/errors',
    'src/ids',
    'src/telemetry',
    'zod',
  ],
  'src/data/request': [
    'src/aliases',
    'src/apis',
    'src/data/questions',
    'src/data/access',
    'src/data/account',
    'src/data/policy',
    'src/data/reply',
    'src/data/upstream',
    'src/data/large-place',
    'src/threads',
    'src/rules',
    'src/json',
    'src/http',
    'src/errors',
    'src/clock',
    'zod',
  ],
  'src/data/reply': [
    'src/apis',
    'src/tokens',
    'src/data/account',
    'src/data/policy',
    'src/data/upstream',
    'src/rules',
    'src/http',
    'src/errors',
    'src/cancellation',
    'src/clock',
    'src/telemetry',
  ],
  'src/data/large': [
    'src/data/api',
    'src/data/request',
    'src/data/upstream',
    'src/threads',
    'src/clock',
    'src/error-text',
    'tsx',
  ],
  'src/data/large-place': [],
  'src/admin': [
    'src/aliases',
    'src/apis',
    'src/date-time',
    'src/threads',
    'src/data/access',
    'src/audit',
    'src/merkle',
    'src/http',
    'src/domain',
    'src/kernel',
    'src/rules',
    // One route judges past requests by a draft.
    'src/data/policy',
    // One route shows the windows as they stand.
    'src/limits',
    'projections',
    'src/errors',
    'src/clock',
    'src/ids',
    'src/secrets',
    'zod',
    'canonicalize',
    'src/telemetry',
  ],
  'src/threads': [],
  'src/rules': ['src/apis', 'src/threads', '@marcbachmann/cel-js', 're2js', 'src/json', 'tsx'],
  // What is loaded only where the configuration asks for it: prom-client, OpenTelemetry.
  'src/observability': [
    'src/tokens',
    'src/error-text',
    'src/http',
    'src/ids',
    'src/clock',
    'src/telemetry',
    'src/version',
    'pino',
    'prom-client',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace-base',
  ],
  'src/audit': ['src/domain', 'src/kernel', 'src/merkle', 'src/clock', 'src/telemetry', 'canonicalize'],
  'src/merkle': [],
  'src/limits': ['src/domain', 'src/clock', 'zod'],
  'src/cancellation': [],
  'src/clock': [],
  'src/date-time': ['zod'],
  'src/error-text': [],
  'src/errors': [],
  'src/telemetry': [],
  'src/aliases': ['zod'],
  'src/tokens': [],
  'src/version': [],
  'src/process': [],
  'src/ids': ['src/clock'],
  'src/config': ['zod', 'src/secrets', 'src/audit', 'src/folder'],
  'src/secrets': ['zod', 'src/clock', 'src/folder'],
  'src/folder': [],
};

/** Packages that one file alone may import. */
const soleImporters: Readonly<Record<string, RegExp>> = {
  '@eventstore/db-client': /^src\/eventstoredb\//,
  'uWebSockets.js': /^src\/http\/uws\.ts$/,
  'uWebSockets.js-node24': /^src\/http\/uws\.ts$/,
};

/** What packages neither export nor document, and the one file that says against which version it was checked. */
const insides: readonly { readonly of: string; readonly only: string; readonly reached: RegExp }[] = [
  {
    of: '@eventstore/db-client',
    only: 'src/eventstoredb/client/client-internals.ts',
    reached: /db-client\/|\b(?:GRPCStreamCreator|handleError|callArguments|getChannel)\b/,
  },
  {
    of: '@marcbachmann/cel-js',
    only: 'src/rules/language/cel-internals.ts',
    reached: /\b(?:checkedType|iterCtx)\b/,
  },
  { of: 're2js', only: 'src/rules/language/patterns/re2-internals.ts', reached: /\.re2\(\)|\bdoExecuteNFA\b|\.dfa\b/ },
];

/** What the hot path must not load, not even through others. */
const coldPackages = ['xstate', '@eventstore/db-client', 'lmdb'];

interface Import {
  readonly name: string;
  readonly typeOnly: boolean;
}
type Sources = ReadonlyMap<string, readonly Import[]>;

const statement = /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\(\s*'([^']+)'\s*\)/g;

const importsOf = (text: string): Import[] =>
  [...text.matchAll(statement)].map((m) => ({ name: (m[2] ?? m[3]) as string, typeOnly: m[1] !== undefined }));

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?ts$|\.mjs$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));

const sources = (): Map<string, Import[]> =>
  new Map(
    ['src', 'projections'].flatMap(files).map((file) => [file, importsOf(readFileSync(join(root, file), 'utf8'))]),
  );

/** The file of ours that an import leads to, or the package's name. */
const target = (from: string, name: string): string => {
  if (name.startsWith('.')) return relative(root, resolve(root, dirname(from), name));
  return name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split('/')[0] as string);
};

const room = (file: string): string => {
  const [top = '', ...below] = file.split('/');
  if (top === 'projections') return top;
  const [second = '', ...rest] = below[0] === 'data' ? [below.slice(0, 2).join('/'), ...below.slice(2)] : below;
  return rest.length > 0 ? `${top}/${second}` : `${top}/${second.replace(/\.ts$/, '')}`;
};

const violations = (all: Sources): string[] => {
  const found: string[] = [];
  for (const [file, imports] of all) {
    const from = room(file);
    for (const { name } of imports) {
      if (name.startsWith('node:')) continue;
      const to = target(file, name);
      const place = all.has(to) || to.startsWith('src/') || to.startsWith('projections/') ? room(to) : to;
      if (place === 'src/main') found.push(`${file} imports main`);
      if (soleImporters[place] && !soleImporters[place].test(file)) found.push(`${file} imports ${place}`);
      if (place === 'src/cli' && from !== 'src/main' && from !== 'src/cli') found.push(`${file} imports cli`);
      if (['src/main', 'src/cli', 'src/app'].includes(from) || place === from) continue;
      if (!allowed[from]?.includes(place)) found.push(`${file} imports ${place}`);
    }
  }
  return found;
};

/** Everything that a file loads at run time, itself included: type imports load nothing. */
const reach = (all: Sources, start: string): Set<string> => {
  const seen = new Set<string>([start]);
  for (const file of seen) {
    for (const { name, typeOnly } of all.get(file) ?? []) if (!typeOnly) seen.add(target(file, name));
  }
  return seen;
};

/** By the read models; who judges a request knows their types alone. */
const filled = ['src/data/access/directory.ts', 'src/data/policy/in-force.ts'];

const cold = (all: Sources): string[] =>
  [...all.keys()]
    .filter((file) => /^src\/(data|http|limits)\//.test(file) && !filled.includes(file))
    .flatMap((file) =>
      coldPackages.filter((name) => reach(all, file).has(name)).map((name) => `${file} loads ${name}`),
    );

/** A circle of imports at run time, as the files it goes through. */
const circles = (all: Sources): string[] => {
  const state = new Map<string, 'open' | 'done'>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      found.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    state.set(file, 'open');
    for (const { name, typeOnly } of all.get(file) ?? []) {
      const to = target(file, name);
      if (!typeOnly && all.has(to)) visit(to, [...path, file]);
    }
    state.set(file, 'done');
  };
  for (const file of all.keys()) visit(file, []);
  return found;
};

/** What a file is in a folder: itself, or the folder in it through which one reaches it. */
const unit = (folder: string, file: string): string | undefined =>
  file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;

/** Circles of folders, and of folders and files beside them, which types alone make too: a room that needs no other. */
const folderCircles = (all: Sources): string[] => {
  const folders = new Set<string>();
  for (const file of all.keys()) for (let at = dirname(file); at !== '.'; at = dirname(at)) folders.add(at);
  return [...folders].flatMap((folder) => {
    const needs = new Map<string, Set<string>>();
    for (const [file, imports] of all) {
      const from = unit(folder, file);
      for (const { name } of imports) {
        const to = from === undefined ? undefined : unit(folder, target(file, name));
        if (from === undefined || to === undefined || to === from || !all.has(target(file, name))) continue;
        needs.set(from, (needs.get(from) ?? new Set()).add(to));
      }
    }
    const reaches = (from: string, seen = new Set<string>()): Set<string> => {
      for (const to of needs.get(from) ?? []) if (!seen.has(to)) reaches(to, seen.add(to));
      return seen;
    };
    return [...needs.keys()].filter((each) => reaches(each).has(each)).map((each) => `${folder}/${each}`);
  });
};

describe('the import rules', () => {
  const all = sources();
  test('hold', () => {
    expect(all.size).toBeGreaterThan(80);
    expect(violations(all)).toEqual([]);
  });
  test('keep xstate, the event store and LMDB out of the hot path, through any number of files', () => {
    expect(cold(all)).toEqual([]);
  });
  test('make no circles', () => {
    expect(circles(all)).toEqual([]);
    expect(folderCircles(all)).toEqual([]);
  });
});

test('each folder imports only folders below it in the table of src/README.md', () => {
  const map = readFileSync(join(root, 'src/README.md'), 'utf8');
  const rows = [...map.matchAll(/^\| `((?:src|projections)[\w/]*)\/` \|/gm)].map(([, folder]) => folder!);
  const place = (folder: string): number => rows.indexOf(folder);
  expect(rows.length).toBeGreaterThan(20);
  const upwards = [...sources()].flatMap(([file, imports]) =>
    imports
      .map(({ name }) => room(target(file, name)))
      .filter((to) => place(to) !== -1 && place(to) < place(room(file)))
      .map((to) => `${file} imports ${to}`),
  );
  expect(upwards).toEqual([]);
});

/** Lines of other files that reach into a package. */
const reaching = (texts: ReadonlyMap<string, string>): string[] =>
  [...texts].flatMap(([file, text]) =>
    insides
      .filter(({ only, reached }) => file !== only && reached.test(text))
      .map((inside) => `${file} reaches into ${inside.of}`),
  );

const namedPlace = /new URL\(\s*['`]([^'`]+)['`],\s*import\.meta\.url\)/g;

test('a place that a module names is the same from the bundle, which runs in src/cli', () => {
  const bundled = files('src').filter((file) => file.endsWith('.ts'));
  const named = bundled.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(namedPlace)].map(([, place]) => ({ file, place: place! })),
  );
  expect(named.length).toBeGreaterThan(5);
  const lost = named.filter(
    ({ file, place }) => resolve(root, dirname(file), place) !== resolve(root, 'src/cli', place),
  );
  expect(lost).toEqual([]);
});

describe('the inside of packages', () => {
  const texts = new Map(
    ['src', 'projections'].flatMap(files).map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
  );
  test('is reached through the one file that states their version', () => {
    expect(reaching(texts)).toEqual([]);
    for (const { only, reached } of insides) expect(texts.get(only)).toMatch(reached);
  });
  test('is not reached from anywhere else without being noticed', () => {
    const lines = [
      "import messages from '@eventstore/db-client/generated/streams_pb.js';",
      'const type = (node as { checkedType?: unknown }).checkedType;',
      'engine.re2().dfa.memBudget = 0;',
    ];
    expect(lines.flatMap((line) => reaching(new Map([['src/x.ts', line]])))).toHaveLength(insides.length);
  });
});

describe('a planted violation is caught', () => {
  const planted = (file: string, text: string): Sources => new Map(sources()).set(file, importsOf(text));
  test('of a room’s table', () => {
    expect(violations(planted('src/http/x.ts', "import { project } from '../domain/project.ts';"))).toHaveLength(1);
    expect(violations(planted('src/domain/x.ts', "import type { Config } from '../config.ts';"))).toHaveLength(1);
    expect(violations(planted('src/embedded/store/x.ts', "import { pack } from 'msgpackr';"))).toHaveLength(1);
  });
  test('of a package with one importer', () => {
    expect(
      violations(planted('src/cli/x.ts', "import {\n  EventStoreDBClient,\n} from '@eventstore/db-client';")),
    ).toHaveLength(1);
    expect(violations(planted('src/http/x.ts', "const uws = await import('uWebSockets.js');"))).toHaveLength(1);
  });
  test('of main', () => {
    expect(violations(planted('src/cli/x.ts', "import '../main.ts';"))).toEqual(['src/cli/x.ts imports main']);
  });
  test('of the hot path, through a file in between', () => {
    const text = "import { projections } from '../../../projections/all.ts';";
    expect(cold(planted('src/data/request/x.ts', text))).toContain('src/data/request/x.ts loads xstate');
    expect(cold(planted('src/data/request/x.ts', text.replace('import', 'import type')))).toEqual([]);
  });
  test('of the ban on circles', () => {
    const ring = new Map(sources()).set('src/domain/x.ts', importsOf("export * from './y.ts';"));
    ring.set('src/domain/y.ts', importsOf("import { x } from './x.ts';"));
    expect(circles(ring)).toEqual(['src/domain/x.ts → src/domain/y.ts → src/domain/x.ts']);
    const rooms = planted('src/limits/window/x.ts', "import type { headers } from '../http/headers.ts';");
    expect(folderCircles(rooms)).toEqual(expect.arrayContaining(['src/limits/http', 'src/limits/window']));
  });
});
