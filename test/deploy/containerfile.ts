import { readFileSync } from 'node:fs';

interface Image {
  /** What COPY takes, in order; of the first stage's files where `from` says so. */
  readonly copied: readonly { readonly from: string; readonly paths: readonly string[]; readonly to: string }[];
  /** Of the last stage, as all that follows. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly volumes: readonly string[];
  readonly stopSignal: string;
  readonly healthCheck: readonly string[];
}

const instructionsIn = (text: string): { readonly name: string; readonly rest: string }[] =>
  text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { name, rest };
    });

/** What src/deploy/Containerfile says. */
export const containerfile = (): Image => {
  const all = instructionsIn(readFileSync(new URL('../../src/deploy/Containerfile', import.meta.url), 'utf8'));
  const last = all.slice(all.findLastIndex(({ name }) => name === 'FROM'));
  const of = (name: string): string => last.find((each) => each.name === name)?.rest ?? '';
  return {
    copied: all
      .filter(({ name }) => name === 'COPY')
      .map(({ rest }) => {
        const [, from] = /^--from=(\S+)/.exec(rest) ?? [];
        const words = rest.split(/\s+/).filter((word) => !word.startsWith('--'));
        return { from: from ?? 'the repository', paths: words.slice(0, -1), to: words.at(-1)! };
      }),
    env: Object.fromEntries(
      of('ENV')
        .split(/\s+/)
        .map((each) => each.split('=') as [string, string]),
    ),
    user: of('USER'),
    entrypoint: JSON.parse(of('ENTRYPOINT')) as string[],
    command: JSON.parse(of('CMD')) as string[],
    volumes: of('VOLUME').split(/\s+/),
    stopSignal: of('STOPSIGNAL'),
    healthCheck: JSON.parse(of('HEALTHCHECK').replace(/^.*?CMD/, '')) as string[],
  };
};
