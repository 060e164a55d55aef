import { describe, expect, test } from 'vitest';
import { upstreamRefusal } from '../../src/data/reply/upstream-refusal.ts';
import { statusError } from '../../src/data/upstream/transport/upstream-errors.ts';

/** What is told of an upstream's refusal that has the form of our own (contract L.4). */

const hide = (text: string): string => text.replaceAll('sk-canary', '[key]');
const detail = { loc: ['body', 'zzz'], msg: 'No.', type: 'value_error', input: { a: 1 }, ctx: { le: 2 } };
const error = { type: 'invalid_request_error', message: 'zzz: No.', code: 'unsupported_parameter', param: 'zzz' };

const refused = (status: number, body: object) =>
  upstreamRefusal(statusError(status, JSON.stringify(body), { hide, tellsPlaces: true }));
const generic = { code: 'invalid_request', status: 400, message: 'zzz: No.', param: null, details: [] };

test('is all of it', () => {
  expect(refused(422, { error, detail: [detail] })).toMatchObject({
    code: 'unsupported_parameter',
    status: 422,
    message: 'zzz: No.',
    param: 'zzz',
    details: [detail],
  });
});

test('has the status of its code where an API has said 400 for it', () => {
  expect(refused(400, { error })).toMatchObject({ code: 'unsupported_parameter', status: 422, param: 'zzz' });
});

test('says nothing of places in a body that the client did not write', () => {
  const error400 = statusError(400, JSON.stringify({ error }), { hide, tellsPlaces: false });
  expect(upstreamRefusal(error400)).toMatchObject(generic);
});

describe('is the message alone where', () => {
  test.each<[string, number, object]>([
    ['it has no code', 422, { error: { ...error, code: undefined } }],
    ['nobody knows the code', 422, { error: { ...error, code: 'constructor' } }],
    ['the code is of another status', 422, { error: { ...error, code: 'internal_error' } }],
    ['the status is not that of the code', 413, { error }],
    ['a detail has another form', 422, { error, detail: [{ ...detail, loc: 'body' }] }],
    ['there are too many details', 422, { error, detail: Array(21).fill(detail) }],
    ['it holds the key', 422, { error, detail: [{ ...detail, input: 'sk-canary' }] }],
    ['it is long', 422, { error, detail: [{ ...detail, msg: 'x'.repeat(8192) }] }],
  ])('%s', (_, status, body) => {
    const expected = status === 413 ? { ...generic, code: 'request_too_large', status } : generic;
    expect(refused(status, body)).toMatchObject(expected);
  });
});

test('is nothing where it is about the operator’s account', () => {
  const body = { error: { ...error, message: 'Your credit balance is too low.' } };
  expect(refused(422, body)).toMatchObject({ code: 'provider_error', status: 502, param: null });
});
