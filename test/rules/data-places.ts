import { openEvaluator } from '../../src/rules/evaluate.ts';
import { sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import type { Beside } from '../../src/rules/text/request-text.ts';
import { bodyView, type RuleView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** Places for data in requests, and data that not all readers read alike. */

type Endpoint = Beside['endpoint'];
type Asked = readonly [Endpoint, object];
export const viewIn = ([endpoint, body]: Asked): RuleView =>
  bodyView(
    { endpoint, model: 'm', maxTokens: 1, inputTokens: 1, stream: false, body: Buffer.from(JSON.stringify(body)) },
    sampleOwner,
  );

const evaluator = openEvaluator();
const rule = accepted('request.text.contains("nightfall")');
/** The score of a rule that looks for `nightfall`, or why it has none. */
export const scoreIn = async (asked: Asked): Promise<number | string> => {
  const [verdict] = await evaluator.judge([{ rule, atLeast: 5000 }], viewIn(asked), { now: sampleTime });
  return verdict!.verdict === 'score' ? verdict!.scoreBasisPoints : verdict!.message;
};

export const asks = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });

/** Every place in which a client says of data what it is. */
export const typed: Readonly<Record<string, (type: string, data: string) => Asked>> = {
  'a document': (media_type, data) => [
    'messages',
    asks({ type: 'document', source: { type: 'base64', media_type, data } }),
  ],
  'an image': (media_type, data) => ['messages', asks({ type: 'image', source: { type: 'base64', media_type, data } })],
  'a strange block': (media_type, data) => ['messages', asks({ type: 'new_thing', media_type, data })],
  'an image of chat': (type, data) => [
    'chat.completions',
    asks({ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }),
  ],
  'a file of chat': (type, data) => [
    'chat.completions',
    asks({ type: 'file', file: { file_data: `data:${type};base64,${data}` } }),
  ],
  'a file of responses': (type, data) => [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_data: `data:${type};base64,${data}` }] }] },
  ],
  'a text that is an address': (type, data) => ['responses', { input: `data:${type};base64,${data}` }],
};
/** Every place in which there is data and nothing is said of it. */
export const untyped: typeof typed = {
  'a file of chat without an address': (_, file_data) => [
    'chat.completions',
    asks({ type: 'file', file: { file_data } }),
  ],
  'a strange block without a type': (_, data) => ['messages', asks({ type: 'new_thing', data })],
  'a document without a type': (_, data) => ['messages', asks({ type: 'document', source: { type: 'base64', data } })],
  'a result': (_, result) => ['responses', { input: [{ type: 'image_generation_call', result }] }],
};

export const base64 = (bytes: string | Buffer) => Buffer.from(bytes as string).toString('base64');
const latin1 = (bytes: string) => base64(Buffer.from(bytes, 'latin1'));
export const wide = (text: string) => Buffer.from(text, 'utf16le');
export const plainType = 'text/plain';

/**
 * Recorded from Python 3.11: a type, the data, and how `base64` and `bytes.decode` read `nightfall` in them. No line needs
 * Python.
 */
export const recorded: readonly (readonly [how: string, type: string, data: string])[] = [
  ['utf-8', plainType, latin1(`${'a\0'.repeat(48)}about nightfall`)],
  ['utf-8, errors=replace', plainType, latin1(`${'a\0'.repeat(48)}about nightfall\xff`)],
  ['utf-8, errors=replace', plainType, latin1('\xff\xfeabout nightfall')],
  ['utf-8, errors=replace', plainType, latin1('\xfe\xffabout nightfall')],
  ['utf-8, errors=replace', `${plainType};charset=utf-16le`, latin1('about nightfall\xff')],
  ['utf-8, errors=replace', `${plainType};charset=iso-2022-jp`, latin1('\x1b$Babout nightfall\xff')],
  ['utf-8, errors=ignore', plainType, latin1('about night\xff\xfefall')],
  ['iso-2022-jp', `${plainType};charset=iso-2022-jp`, latin1('about \x1b(Bnight\x1b(Bfall')],
  ['utf-16le', `${plainType}; charset="utf-16le"`, base64(wide('about nightfall'))],
  ['utf-16le', `${plainType};charset=UTF-8;charset=utf-16le`, base64(wide('about nightfall \u0439'))],
  ['utf-16', plainType, base64(wide('\ufeffabout nightfall \u0439'))],
  ['utf-16', `${plainType};charset=shift_jis`, base64(wide('\ufeffabout nightfall').swap16())],
  ['latin-1', `${plainType};charset=iso-8859-1`, latin1('caf\xe9 nightfall')],
  ['b64decode', plainType, 'bmln=aHRmYWxs'],
  ['b64decode', plainType, '*bmlnaHRmYWxs*'],
  ['b64decode', plainType, 'bm-lnaHRm_YWxs'],
  ['b64decode', plainType, 'b.m.l.n.a.H.R.m.Y.W.x.s'],
  ['b64decode', plainType, `${base64('it is about a nice long ')}=${base64('nightfall, which is on')}`],
  ['b64decode', plainType, 'bmlnaHRmYWxs==='],
  ['b64decode, with padding added', plainType, 'bmlnaHRmYWxsIQ'],
  ['b64decode', plainType, 'bmlnaHRmYWxsIQ==junk'],
  ['b64decode, utf-16le', `${plainType};charset=utf-16le`, `*${base64(wide('nightfall \u0439'))}`],
  ['urlsafe_b64decode', plainType, `${base64('>>>nightfall').replace('+', '-')}`],
  ['urlsafe_b64decode', plainType, 'Pj4-=bmlnaHRmYWxs'],
];
