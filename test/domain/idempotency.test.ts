import { describe, test } from 'vitest';
import { type IdempotencyEvent, idempotency } from '../../src/domain/idempotency.ts';
import { given } from '../support/given.ts';

const day = 24 * 3600 * 1000;
const reserved = (resource = 'key_1', at = 0, by = 'req_1'): IdempotencyEvent => ({
  type: 'idempotency.reserved',
  reserved_by: by,
  fingerprint: 'f',
  resource_id: resource,
  reserved_at: at,
});
const answer = { status: 201, body: { id: 'key_1' } };
const completed: IdempotencyEvent = { type: 'idempotency.completed', completed_at: 100, ...answer };
const released: IdempotencyEvent = { type: 'idempotency.released', reserved_by: 'req_1' };
const nobody: ReadonlySet<string> = new Set();
const again = (at: number, fingerprint = 'f', ended = nobody) => ({
  fingerprint,
  resourceId: 'key_2',
  at,
  by: 'req_2',
  ended,
});
const refused = (code: string) => ({ refusal: { code, param: 'header.Idempotency-Key' } });

test('a key that is reserved anew has no answer until it is completed anew', () => {
  given(idempotency, [reserved(), completed])
    .when('reserve', again(100 + day))
    .leaves({ status: 'reserved', data: { answer: null } });
});

describe('reserve', () => {
  test('takes a key that nobody holds', () => {
    given(idempotency, [])
      .when('reserve', { fingerprint: 'f', resourceId: 'key_1', at: 0, by: 'req_1', ended: nobody })
      .then([reserved()]);
  });
  test('refuses a twin while the first is at work, and lets an abandoned one be taken up with its own id', () => {
    given(idempotency, [reserved()]).when('reserve', again(5_999)).refuses(refused('idempotency_in_progress'));
    given(idempotency, [reserved()])
      .when('reserve', again(5_999))
      .refuses({ refusal: { headers: { 'Retry-After': '1' } } });
    given(idempotency, [reserved()])
      .when('reserve', again(6_000))
      .then([reserved('key_1', 6_000, 'req_2')]);
  });
  test('keeps the id of an abandoned one however long ago it was, and refuses another body for it', () => {
    given(idempotency, [reserved()])
      .when('reserve', again(2 * day))
      .then([reserved('key_1', 2 * day, 'req_2')]);
    given(idempotency, [reserved()])
      .when('reserve', again(2 * day, 'g'))
      .refuses(refused('idempotency_key_reused'));
  });
  test('takes up at once what a request left behind that is known to be over, and nothing of another one', () => {
    given(idempotency, [reserved()])
      .when('reserve', again(1, 'f', new Set(['req_1'])))
      .then([reserved('key_1', 1, 'req_2')]);
    given(idempotency, [reserved()])
      .when('reserve', again(1, 'f', new Set(['req_0'])))
      .refuses(refused('idempotency_in_progress'));
    given(idempotency, [reserved(), completed])
      .when('reserve', again(200, 'f', new Set(['req_1'])))
      .then([]);
    given(idempotency, [reserved()])
      .when('reserve', again(1, 'g', new Set(['req_1'])))
      .refuses(refused('idempotency_key_reused'));
  });
  test('refuses another body, at work or done or abandoned', () => {
    given(idempotency, [reserved()]).when('reserve', again(1, 'g')).refuses(refused('idempotency_key_reused'));
    given(idempotency, [reserved()]).when('reserve', again(40_000, 'g')).refuses(refused('idempotency_key_reused'));
    given(idempotency, [reserved(), completed])
      .when('reserve', again(200, 'g'))
      .refuses(refused('idempotency_key_reused'));
  });
  test('has the answer repeated for 24 hours after completion, and starts anew then', () => {
    const done = [reserved(), completed];
    given(idempotency, done)
      .when('reserve', again(100 + day - 1))
      .then([])
      .leaves({ status: 'completed', data: { resourceId: 'key_1', answer } });
    given(idempotency, done)
      .when('reserve', again(100 + day))
      .then([reserved('key_2', 100 + day, 'req_2')]);
    given(idempotency, done)
      .when('reserve', again(100 + day, 'g'))
      .leaves({ status: 'reserved', data: { fingerprint: 'g' } });
  });
  test('takes a released key with any body', () => {
    given(idempotency, [reserved(), released])
      .when('reserve', again(5, 'g'))
      .leaves({ status: 'reserved', data: { fingerprint: 'g', resourceId: 'key_2' } });
  });
});

test('only who reserved it completes it, while it is in progress', () => {
  const by = (who: string) => ({ by: who, at: 100, answer });
  given(idempotency, [reserved()]).when('complete', by('req_1')).then([completed]).leaves({ status: 'completed' });
  given(idempotency, []).when('complete', by('req_1')).then([]);
  given(idempotency, [reserved(), reserved('key_1', 6_000, 'req_2')])
    .when('complete', by('req_1'))
    .then([]);
  given(idempotency, [reserved(), completed]).when('complete', by('req_1')).then([]);
  given(idempotency, [reserved(), released]).when('complete', by('req_1')).then([]);
});

test('only who reserved it releases it, while it is in progress', () => {
  given(idempotency, [reserved()]).when('release', { by: 'req_1' }).then([released]).leaves({ status: 'free' });
  given(idempotency, [reserved()]).when('release', { by: 'req_2' }).then([]);
  given(idempotency, [reserved(), reserved('key_1', 6_000, 'req_2')])
    .when('release', { by: 'req_1' })
    .then([]);
  given(idempotency, [reserved(), completed]).when('release', { by: 'req_1' }).then([]);
  given(idempotency, [reserved(), released]).when('release', { by: 'req_1' }).then([]);
  given(idempotency, []).when('release', { by: 'req_1' }).then([]);
});
