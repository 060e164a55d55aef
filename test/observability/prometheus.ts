import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const installed = spawnSync('prometheus', ['--version']).error === undefined;

/** Why there is no Prometheus here; undefined where there is one. */
export const noPrometheus = installed ? undefined : 'prometheus is not installed (apt-get install prometheus)';

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly object[] };
}

/** A Prometheus that scrapes this URL once a second, until it is closed. */
export const prometheus = async (metricsUrl: string) => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-prometheus-'));
  const { host, pathname } = new URL(metricsUrl);
  const config = { job_name: 'weir', metrics_path: pathname, static_configs: [{ targets: [host] }] };
  // YAML has JSON in it.
  writeFileSync(
    join(dir, 'prometheus.yml'),
    JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [config] }),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      '--config.file',
      join(dir, 'prometheus.yml'),
      '--storage.tsdb.path',
      join(dir, 'data'),
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  const ask = (path: string) => fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(10_000) });
  for (let n = 0; ; n++) {
    const isReady = await ask('/-/ready').then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    if (n === 300 || child.exitCode !== null) throw new Error('Prometheus does not start.');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    /** The series that it has for this now. @throws Error with what it says where it is no query */
    async query(expr: string): Promise<readonly object[]> {
      const answer = (await (await ask(`/api/v1/query?query=${encodeURIComponent(expr)}`)).json()) as Answer;
      if (answer.status !== 'success') throw new Error(answer.error);
      return answer.data!.result;
    },
    async close() {
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true });
    },
  };
};
