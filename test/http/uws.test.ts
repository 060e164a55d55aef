import { afterEach, expect, test, vi } from 'vitest';
import { whyNoServer } from '../../src/http/native-needs.ts';

afterEach(() => {
  vi.doUnmock('uWebSockets.js');
  vi.doUnmock('uWebSockets.js-node24');
  vi.resetModules();
});

test('a binary that cannot be loaded is one clear sentence, with the reason as its cause', async () => {
  const broken = (): never => {
    throw new Error('libc.so.6: version not found');
  };
  vi.doMock('uWebSockets.js', broken);
  vi.doMock('uWebSockets.js-node24', broken);
  const { loadUws } = await import('../../src/http/uws.ts');
  const error = await loadUws().catch((reason: unknown) => reason as Error);
  expect(error).toBeInstanceOf(Error);
  expect((error as Error).message).toMatch(/^The HTTP server cannot start: \S[^\n]+\.$/);
  expect((error as Error).message).not.toContain('\n');
  expect((error as Error).cause).toBeDefined();
});

const linux = { platform: 'linux', arch: 'x64' };

test.each([
  [
    { ...linux, node: '24.1.0', glibc: '2.36' },
    'on Node 24.1.0 it needs glibc 2.38 or later, and this system has 2.36. Use Node 22 here, or a newer system such as Debian 13 or Ubuntu 24.04.',
  ],
  [
    { ...linux, node: '26.0.0', glibc: '2.9' },
    'on Node 26.0.0 it needs glibc 2.38 or later, and this system has 2.9. Use Node 22 here, or a newer system such as Debian 13 or Ubuntu 24.04.',
  ],
  [
    { ...linux, node: '22.12.0', glibc: '2.26' },
    'on Node 22.12.0 it needs glibc 2.27 or later, and this system has 2.26. Use a newer system such as Debian 13 or Ubuntu 24.04.',
  ],
  [
    { ...linux, node: '20.19.0', glibc: undefined },
    'it needs glibc, and the C library of this system is another, such as musl. Use a system with glibc such as Debian 13 or Ubuntu 24.04.',
  ],
  [
    { ...linux, node: '24.1.0', glibc: '2.38' },
    'its binary for Node 24.1.0 on linux x64 is not installed or cannot be loaded. Run npm install again, with this Node.',
  ],
  [
    { platform: 'darwin', arch: 'arm64', node: '22.12.0', glibc: undefined },
    'its binary for Node 22.12.0 on darwin arm64 is not installed or cannot be loaded. Run npm install again, with this Node.',
  ],
])('on %j it says what is there and what to do', (host, sentence) => {
  expect(whyNoServer(host)).toBe(`The HTTP server cannot start: ${sentence}`);
});

test('the size of a header block is set before the binary reads it', async () => {
  const { loadUws } = await import('../../src/http/uws.ts');
  await loadUws();
  expect(process.env.UWS_HTTP_MAX_HEADERS_SIZE).toBe('16384');
});
