import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type RawOptions, send } from './raw-client.ts';
import { type Service, startService } from './service.ts';
import { marker, smugglingCases } from './smuggling-cases.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());
// Some answers without a body are the last of their connection, by lot: none of these.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.9);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const effects = (): number =>
  service.effects.archived.length + service.effects.messages.length + service.effects.created.length;

/** What comes of pieces that are sent one after the other, each once the one before is answered. */
const outcome = async (pieces: readonly string[], ending: RawOptions) => {
  const before = effects();
  const { marked } = service.effects;
  const isHead = pieces[0]!.startsWith('HEAD ');
  const { statuses } = await send(service.port, '', { pieces, isHead, inTurn: true, settleMs: 40, ...ending });
  return { answers: statuses, effects: effects() - before, marked: service.effects.marked - marked };
};

describe('a request of doubtful framing, followed by a marker', () => {
  test('there are at least fifty cases', () => {
    expect(smugglingCases.length).toBeGreaterThan(50);
  });

  // One after the other: the effects are counted.
  test.each(smugglingCases)('$name', async ({ bytes, answers, effects: expected = 0, marked = false }) => {
    // Where no answer is due the connection closes or stays silent.
    const due = answers.length === 0 ? { closes: true, quietMs: 300 } : { answers: answers.length };
    expect(await outcome([bytes, marker], due)).toEqual({ answers, effects: expected, marked: marked ? 1 : 0 });
    // In one segment the marker ends the connection before anything is done, unless the core has refused what is before it.
    const joined = await outcome([bytes + marker], { closes: true, quietMs: 300 });
    expect([joined.effects, joined.marked]).toEqual([0, 0]);
    expect([[], [400], [505]]).toContainEqual(joined.answers);
    expect(service.effects.archived).not.toContain('hidden');
  });

  // The core's list of headers ends at a line without a name, for its own length check and for ours.
  test('a nameless header that hides a length on GET', async () => {
    const hidden =
      'POST /v1/organization/things/behind-get/archive HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n';
    await send(
      service.port,
      `GET /v1/marker HTTP/1.1\r\nHost: a\r\n: v\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
      { quietMs: 200 },
    );
    expect(service.effects.archived).not.toContain('behind-get');
  });
});
