import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, startServer } from '../machine/server-process.ts';
import { whoOf } from '../report/who.ts';
import type { Stage } from '../stage.ts';
import { noKeys, type Target } from '../target.ts';
import { haproxyConfig } from './haproxy.ts';
import { nginxConfig } from './nginx.ts';
import type { ProxyFiles } from './proxy-files.ts';

/**
 * What a proxy is to do: refuse by three request rates (per key, per project, per organization, told apart by parts of
 * the key), and then answer with a fixed body or forward to an upstream.
 */
export interface ProxyWork {
  /** Taken where there is no upstream. */
  readonly body: Buffer;
  readonly upstreamPort: number | null;
}

/** Debian puts them where only root's path leads. */
const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

const versionOf = (program: string): string | null => {
  try {
    // nginx tells its version on standard error.
    return execFileSync('sh', ['-c', `${program} -v 2>&1`], { encoding: 'utf8', env: { PATH: path } }).split('\n')[0]!;
  } catch {
    return null;
  }
};

interface Proxy {
  readonly program: 'nginx' | 'haproxy';
  readonly configOf: (files: ProxyFiles) => string;
  readonly commandOf: (config: string, dir: string) => readonly string[];
}

const proxies: readonly Proxy[] = [
  {
    program: 'haproxy',
    configOf: haproxyConfig,
    // -db: one process in the foreground.
    commandOf: (config) => ['haproxy', '-db', '-q', '-f', config],
  },
  {
    program: 'nginx',
    configOf: nginxConfig,
    commandOf: (config, dir) => ['nginx', '-p', dir, '-c', config],
  },
];

/** HAProxy and nginx with the same work, each on the server's core; what is not installed is noted. */
export const startProxies = async (
  stage: Stage,
  work: ProxyWork,
): Promise<{ targets: readonly Target[]; notes: readonly string[] }> => {
  const targets: Target[] = [];
  const notes: string[] = [];
  for (const { program, configOf, commandOf } of proxies) {
    const version = versionOf(program);
    if (version === null) {
      notes.push(`${whoOf(program)} skipped: it is not installed (Debian: apt-get install ${program})`);
      continue;
    }
    const port = await freePort();
    const dir = stage.dir;
    const bodyFile = join(dir, `${program}-body.json`);
    const config = join(dir, `${program}-${port}.cfg`);
    writeFileSync(bodyFile, work.body, { mode: 0o644 });
    writeFileSync(config, configOf({ port, dir, bodyFile, upstreamPort: work.upstreamPort }));
    const server = await startServer({
      name: program,
      command: commandOf(config, dir),
      port,
      core: stage.pinning.server,
      env: { PATH: path },
    });
    stage.onEnd(server.end);
    notes.push(version);
    const { pid, lost } = server;
    targets.push({ name: program, pid, address: { host: '127.0.0.1', port }, keys: noKeys, lost });
  }
  return { targets, notes };
};
