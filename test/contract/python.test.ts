// Lane: rest, alone: a client in Python
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openStore } from '../embedded/store-under-test.ts';
import { fromPyPI } from '../support/kept.ts';
import { embeddedTest } from './target.ts';

const script = fileURLToPath(new URL('./python-client.py', import.meta.url));

embeddedTest(
  'the Python client reads, follows and recognises a wrong version',
  {
    timeout: 400_000,
  },
  async ({ skip }) => {
    const kept = await fromPyPI('esdbclient', ['esdbclient==1.1.7']);
    if ('missing' in kept) return skip(`esdbclient cannot be had here: ${kept.missing}`);
    const python = join(kept.dir, 'bin', 'python');
    const { endpoint } = await openStore({ listen: { port: 0 } });
    const { stdout } = await promisify(execFile)(python, [script, endpoint], { timeout: 60_000 });
    const told = Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as [string, unknown]),
    );
    expect(told).toEqual({
      'the last event is where its append said': true,
      revisions: [0, 1, 2],
      backwards: [2, 1, 0],
      followed: [0, 1, 2],
      'positions agree': true,
      'delete at a wrong revision': expect.stringMatching(/^WrongCurrentVersion/),
      'tombstone at a wrong revision': expect.stringMatching(/^WrongCurrentVersion/),
    });
  },
);
