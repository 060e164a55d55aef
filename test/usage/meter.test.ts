import { describe, expect, test } from 'vitest';
import { Meter, type Opening } from '../../src/data/account/meter.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import type { Tokens } from '../../src/tokens.ts';
import { free } from '../support/accounts.ts';

const asked: Opening = {
  requestId: 'req_1',
  organizationId: 'org_1',
  projectId: 'proj_1',
  keyId: 'key_1',
  line: 'key_1',
  model: 'm',
  api: 'chat.completions',
  estimatedTokens: 100,
  images: 0,
  searches: 0,
  maxTokens: 50,
  longest: 50,
};
const price = priceOf('m', { ...free, prompt: '0.000002', completion: '0.00001', input_cache_read: '0.000001' });
const tokens = (input_tokens: number, output_tokens: number, cache_read_input_tokens = 0): Tokens => ({
  input_tokens,
  output_tokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens,
});

const metered = async (more: Partial<Opening> = {}) => {
  const began: object[] = [];
  const settled: Settlement[] = [];
  const time = { now: 1_000 };
  const meter = new Meter({
    asked: { ...asked, ...more },
    price,
    journal: {
      begin: (each) => Promise.resolve(began.push(each) > 0),
      settle: (each) => Promise.resolve(settled.push(each) > 0),
    },
    clock: { wall: () => 1_700_000_000_000 + time.now, monotonic: () => time.now },
    credit: { settled() {} },
    hold: null,
  });
  await meter.opened();
  return { meter, began, settled, time };
};

/** A meter whose beginning is written in a later turn, or cannot be. */
const opening = (isWritten: boolean) => {
  const settled: Settlement[] = [];
  const journal = { begun: 0 };
  let released = 0;
  const options = {
    asked,
    price,
    journal: {
      begin: () => {
        journal.begun += 1;
        return new Promise<boolean>((resolve) => setImmediate(resolve, isWritten));
      },
      settle: (each: Settlement) => Promise.resolve(settled.push(each) > 0),
    },
    clock: { wall: () => 0, monotonic: () => 0 },
    credit: { settled() {} },
    hold: {
      grow() {},
      release() {
        released += 1;
      },
    },
  };
  return { journal, settled, released: () => released, options };
};

/** Tokens in and out, micro-dollars, who counted, status. */
const gist = (settled: readonly Settlement[]): unknown[] =>
  settled.map((each) => [
    each.input_tokens + each.cache_read_input_tokens,
    each.output_tokens,
    each.micro_dollars,
    each.usage_source,
    each.status,
  ]);

describe('an account', () => {
  test('begins with who asks for what, and what that costs if nobody ever hears of it again', async () => {
    const { began, settled } = await metered();
    expect(began).toEqual([
      {
        request_id: 'req_1',
        organization_id: 'org_1',
        project_id: 'proj_1',
        key_id: 'key_1',
        model: 'm',
        api: 'chat.completions',
        price: price.id,
        asked_at: 1_700_000_001_000,
        input_tokens: 100,
        images: 0,
        micro_dollars: 200,
      },
    ]);
    expect(settled).toEqual([]);
  });

  test('has the tokens of thinking, which are no more than the output', async () => {
    for (const [reasoning_tokens, expected] of [
      [3, 3],
      [99, 30],
      [0, undefined],
      [-1, undefined],
      [undefined, undefined],
    ]) {
      const { meter, settled } = await metered();
      meter.complete({ ...tokens(40, 30), ...(reasoning_tokens !== undefined && { reasoning_tokens }) }, 0);
      expect(settled[0]!.reasoning_tokens).toBe(expected);
    }
  });

  test('is settled by what the upstream says at the end', async () => {
    const { meter, settled, time } = await metered();
    time.now += 20;
    meter.progress(tokens(40, 1, 60), 5);
    time.now += 30;
    meter.complete(tokens(40, 7, 60), 6);
    expect(settled).toEqual([
      {
        request_id: 'req_1',
        organization_id: 'org_1',
        project_id: 'proj_1',
        key_id: 'key_1',
        model: 'm',
        api: 'chat.completions',
        ...tokens(40, 7, 60),
        images: 0,
        usage_source: 'final',
        price: price.id,
        micro_dollars: 80 + 60 + 70,
        status: 200,
        settled_at: 1_700_000_001_050,
        duration_ms: 50,
        first_token_ms: 20,
      },
    ]);
  });

  test('is settled once, by whoever comes first', async () => {
    const done = await metered();
    done.meter.complete(tokens(40, 7), 0);
    done.meter.end();
    done.meter.fail(502);
    done.meter.complete(tokens(1, 1), 0);
    expect(gist(done.settled)).toEqual([[40, 7, 150, 'final', 200]]);
    const left = await metered();
    left.meter.end();
    left.meter.complete(tokens(40, 7), 0);
    expect(gist(left.settled)).toEqual([[100, 0, 200, 'estimated', 499]]);
  });

  test.each([
    ['the client leaves before anything', (m: Meter) => m.end(), [100, 0, 200, 'estimated', 499]],
    [
      'the client leaves in the middle of what the upstream has begun to count',
      (m: Meter) => {
        m.progress(tokens(40, 1), 8);
        m.end();
      },
      [40, 8, 160, 'partial', 499],
    ],
    [
      'the client leaves in the middle, and the upstream has counted more than was sent',
      (m: Meter) => {
        m.progress(tokens(40, 9), 8);
        m.end();
      },
      [40, 9, 170, 'partial', 499],
    ],
    [
      'the client leaves in the middle of what nobody counts',
      (m: Meter) => {
        m.progress(tokens(0, 0), 8);
        m.end();
      },
      [100, 8, 280, 'estimated', 499],
    ],
    ['the upstream fails before anything', (m: Meter) => m.fail(502), [0, 0, 0, 'estimated', 502]],
    [
      'the upstream fails after it has counted the input',
      (m: Meter) => {
        m.progress(tokens(40, 0), 0);
        m.fail(504);
      },
      [40, 0, 80, 'partial', 504],
    ],
    [
      'the upstream fails in the middle of what it has not counted',
      (m: Meter) => {
        m.progress(tokens(0, 0), 3);
        m.fail(502);
      },
      [100, 3, 230, 'estimated', 502],
    ],
    ['the upstream counts no input', (m: Meter) => m.complete(tokens(0, 7), 0), [100, 7, 270, 'estimated', 200]],
    ['the upstream counts no output', (m: Meter) => m.complete(tokens(40, 0), 5), [40, 5, 130, 'partial', 200]],
    ['there was no output to count', (m: Meter) => m.complete(tokens(40, 0), 0), [40, 0, 80, 'final', 200]],
    [
      'the upstream counts what no count can be',
      (m: Meter) => m.complete(tokens(40.7, Number.POSITIVE_INFINITY, -3), 0),
      [40, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 'final', 200],
    ],
  ])('says what was taken where %s', async (_, does, expected) => {
    const { meter, settled } = await metered();
    does(meter);
    expect(gist(settled)).toEqual([expected]);
  });

  test('of a request that was never given to its upstream costs nothing', async () => {
    const { journal, settled, released, options } = opening(true);
    const meter = new Meter(options);
    meter.end();
    expect(await meter.opened()).toBe(true);
    meter.complete(tokens(40, 7), 0);
    expect([gist(settled), released(), journal.begun]).toEqual([[[0, 0, 0, 'estimated', 499]], 1, 1]);
  });

  test('that could not be written holds and settles nothing', async () => {
    const { settled, released, options } = opening(false);
    const meter = new Meter(options);
    expect(await meter.opened()).toBe(false);
    meter.end();
    meter.complete(tokens(40, 7), 0);
    expect([settled, released()]).toEqual([[], 1]);
  });

  test('charges images with what took tokens, and not with what failed', async () => {
    const [one, other] = [await metered({ images: 2 }), await metered({ images: 2 })];
    one.meter.complete(tokens(1, 1), 0);
    other.meter.fail(502);
    expect([one.settled[0]!.images, other.settled[0]!.images]).toEqual([2, 0]);
  });
});
