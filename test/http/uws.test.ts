import { afterEach, expect, test, vi } from 'vitest';

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
  expect((error as Error).message).toMatch(
    /^The HTTP server cannot start: it needs [^.]+(\.\d[^.]*)*, and this is Node .+\.$/,
  );
  expect((error as Error).message).not.toContain('\n');
  expect((error as Error).cause).toBeDefined();
});

test('the size of a header block is set before the binary reads it', async () => {
  const { loadUws } = await import('../../src/http/uws.ts');
  await loadUws();
  expect(process.env.UWS_HTTP_MAX_HEADERS_SIZE).toBe('16384');
});
