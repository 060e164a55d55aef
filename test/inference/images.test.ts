import { expect, test } from 'vitest';
import { imagesIn, imagesOf, pricesImages } from '../../src/data/questions/images.ts';
import { Document } from '../../src/json/document.ts';
import { model } from './hosted.ts';

/** The images that a request is charged for. */

const tape = new Document();
const counted = (text: string): number => {
  expect(tape.scan(Buffer.from(text))).toBe(true);
  return imagesIn(
    tape,
    ['messages', 'system', 'input'].map((name) => Buffer.from(name)),
  );
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
  ['one deep in a block', said([[{ type: 'x', y: [block] }]]), 1],
  ['none in a tool', { ...said('x'), tools: [block] }, 0],
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
  expect(counted(JSON.stringify(request))).toBe(images);
});

test('an escape in the name of a type hides nothing', () => {
  const text = JSON.stringify(said({ type: 'image_url', image_url: { url } }));
  expect(counted(text.replace('"image_url"', '"im\\u0061ge_url"'))).toBe(1);
});

test('in the form of messages they are counted where a block may stand', () => {
  const inner = [block, { type: 'text', text: 'x' }, block];
  expect(imagesOf('text')).toBe(0);
  expect(imagesOf([{ type: 'text', text: '' }, block])).toBe(1);
  expect(imagesOf([{ type: 'tool_result', tool_use_id: 'a', content: inner }, block])).toBe(3);
  expect(imagesOf([{ type: 'document', source: { type: 'content', content: inner } }])).toBe(2);
  expect(imagesOf([{ type: 'tool_use', id: 'a', name: 'draw', input: block }])).toBe(0);
});

test('only models with a price have them counted', () => {
  expect(pricesImages(model())).toBe(false);
  expect(pricesImages(model({ pricing: { image: '0.01' } }))).toBe(true);
});
