import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pricedImages, pricedImagesOnTape } from '../../src/data/request/images.ts';
import { Document } from '../../src/json/document.ts';
import { model } from './hosted.ts';

/** The images that a request is charged for. */

const dear = model({ pricing: { image: '0.01' } });
const tape = new Document();

const apiOf = (request: object) => ('input' in request ? 'responses' : 'messages');

/** By parsing, and on the tape where it need not be parsed. */
const counted = (text: string): number => {
  const request = JSON.parse(text);
  const api = apiOf(request);
  const images = pricedImages(dear, api, request);
  if (tape.scan(Buffer.from(text))) {
    const quick = pricedImagesOnTape(dear, api, tape);
    if (!Number.isNaN(quick)) expect(quick).toBe(images);
  }
  return images;
};

const url = 'data:image/png;base64,AA==';
const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } };
const said = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });

test.each<[string, Readonly<Record<string, unknown>>, number]>([
  ['no image', said({ type: 'text', text: '{"type":"image"}' }), 0],
  ['two of messages', said(block, block), 2],
  ['one in the result of a tool', said({ type: 'tool_result', tool_use_id: 'a', content: [block] }), 1],
  ['one in a document', said({ type: 'document', source: { type: 'content', content: [block] } }), 1],
  ['one in the system prompt', { ...said('x'), system: [block] }, 1],
  ['what a tool was called with', said({ type: 'tool_use', id: 'a', name: 'draw', input: block }), 0],
  ['one of chat completions', said({ type: 'image_url', image_url: { url } }), 1],
  ['one without a type', said({ image_url: { url } }, { type: null, image_url: url }), 2],
  ['none without a type', said({ image_url: null }), 0],
  ['one of responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }, 1],
  [
    'one of a tool’s output',
    { input: [{ type: 'function_call_output', call_id: 'a', output: [{ type: 'input_image', image_url: url }] }] },
    1,
  ],
  [
    'a screen',
    { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: url } }] },
    1,
  ],
])('%s', (_, request, images) => {
  const text = JSON.stringify(request);
  expect(counted(text)).toBe(images);
  expect(pricedImages(model(), apiOf(request), request)).toBe(0);
});

test('an escape in the name of a type hides nothing', () => {
  const text = JSON.stringify(said({ type: 'image_url', image_url: { url } })).replace(
    '"image_url"',
    '"im\\u0061ge_url"',
  );
  expect(counted(text)).toBe(1);
  expect(tape.scan(Buffer.from(text))).toBe(true);
  expect(pricedImagesOnTape(dear, 'chat.completions', tape)).toBeNaN();
});

test('whatever is written, both ways count alike', () => {
  const names = fc.constantFrom('type', 'content', 'input', 'output', 'source', 'image_url', 'x');
  const tags = fc.constantFrom('image', 'image_url', 'input_image', 'tool_use', 'text', 'computer_screenshot');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      tags,
      fc.constant(null),
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .uniqueArray(fc.tuple(names, fc.oneof(tags, tie('value'))), { selector: ([name]) => name, maxLength: 4 })
        .map((members) => Object.fromEntries(members)),
    ),
  }));
  let found = 0;
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('messages', 'input', 'system', 'tools'), value), (request) => {
      found += counted(JSON.stringify(request));
    }),
    { numRuns: 2000 },
  );
  expect(found).toBeGreaterThan(100);
});
