import { describe, expect, test } from 'vitest';
import { accepted, holds, requestOf, responseOf, scoreIn, userSays } from './rule.ts';

describe('the documented examples', () => {
  test('a pattern on the text', () => {
    const rule = String.raw`request.text.matches("(?i)\\bproject\\s+nightfall\\b")`;
    expect(holds(rule, userSays('About Project\n Nightfall.'))).toBe(true);
    expect(holds(rule, userSays('About projects, nightfall'))).toBe(false);
  });
  test('a number and a project', () => {
    const rule = 'request.max_tokens > 32000 && !(project.name in ["research"])';
    expect(holds(rule, requestOf({ maxTokens: 32_001 }))).toBe(true);
    expect(holds(rule, requestOf({ maxTokens: 32_000 }))).toBe(false);
  });
  test('a loop over messages', () => {
    const rule = 'request.messages.exists(m, m.role == "user" && m.text.contains("BEGIN PRIVATE KEY"))';
    expect(holds(rule, userSays('-----BEGIN PRIVATE KEY-----'))).toBe(true);
    expect(holds(rule, requestOf({ messages: [{ role: 'assistant', content: 'BEGIN PRIVATE KEY' }] }))).toBe(false);
  });
  test('a score', () => {
    const rule = String.raw`clamp(0.5 * double(request.text.countMatches("\\b\\d{3}-\\d{2}-\\d{4}\\b")) + (request.has_documents ? 0.2 : 0.0))`;
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '123-45-6789' } };
    expect(scoreIn(rule, userSays('nothing'))).toBe(0);
    expect(scoreIn(rule, userSays('123-45-6789'))).toBe(5000);
    expect(scoreIn(rule, requestOf({ messages: [{ role: 'user', content: [document] }] }))).toBe(7000);
    expect(scoreIn(rule, userSays('123-45-6789 123-45-6789 123-45-6789'))).toBe(10_000);
  });
  test('the response direction', () => {
    const rule = 'response.tool_calls.exists(t, t.name == "shell") || response.text.matches("(?i)internal use only")';
    const shell = { type: 'tool_use', id: 'toolu_1', name: 'shell', input: {} } as const;
    expect(holds(rule, responseOf({ content: [shell] }), 'response')).toBe(true);
    expect(holds(rule, responseOf({ content: [{ type: 'text', text: 'For Internal use only' }] }), 'response')).toBe(
      true,
    );
    expect(holds(rule, responseOf(), 'response')).toBe(false);
  });
  test('a guarded map entry', () => {
    const rule = 'has(request.metadata.team) && request.metadata.team == "x"';
    expect(holds(rule, requestOf({ metadata: { team: 'x' } }))).toBe(true);
    expect(holds(rule)).toBe(false);
  });
});

/** Rules that hold on the least request: `Hi` by a user, metadata empty, 2026-01-01T12:00Z. */
const true_ = [
  // operators and literals
  'true && !false || false',
  '1 == 1 && 1 != 2 && 1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3',
  '1 + 2 * 3 - 4 / 2 == 5 && 7 % 3 == 1 && -1 < 0 && 0x10 == 16',
  '5 - (3 - 1) == 3',
  '1.5 + 2.0 * 2.0 - 1.0 / 4.0 == 5.25 && -0.5 < 0.0 && 1e-12 > 0.0 && double(1) < 1.5',
  '-9223372036854775808 < 9223372036854775807',
  '1 in [1, 2] && !("a" in ["b"]) && !("team" in request.metadata) && "a" in {"a": 1}',
  'true ? "a" == \'a\' : false',
  '[1, 2][1] == 2 && {"a": {"b": true}}["a"].b && request["max_tokens"] == 1',
  'null == null && r"\\d" == "\\\\d" && "\\u00e9" == "é" && """a\nb""" == "a\\nb"',
  '[1, 2] == [1, 2] && request.tool_names == [] && {"a": 1} == {"a": 1}',
  '"😀".size() == 1 && request.text == "Hi" // a comment',
  // macros
  '!has(request.metadata.team) && has(request.text)',
  '[1, 2].all(x, x > 0) && [1, 2].exists(x, x > 1) && [1, 2, 2].exists_one(x, x == 1)',
  '[1, 2, 3].filter(x, x > 1).size() == 2 && [1, 2, 3].filter(x, x > 1) == [2, 3]',
  '!request.metadata.exists(k, request.metadata[k] == "x")',
  'request.messages.all(m, request.tool_names.all(t, m.text != t))',
  '[[1], [2, 3]].exists(l, l.size() == 2)',
  // functions
  'size("ab") == 2 && "ab".size() == 2 && size([1]) == 1 && request.metadata.size() == 0',
  'request.text.contains("i") && request.text.startsWith("H") && request.text.endsWith("i")',
  'request.text.matches("^H.$") && !request.text.matches("^h") && "xHix".matches("Hi")',
  '"ÀbC".lowerAscii() == "Àbc" && "àbC".upperAscii() == "àBC" && "AbC".lowerAscii() == "abc"',
  '"  a ".trim() == "a" && "abcb".indexOf("b") == 1 && "abcb".indexOf("b", 2) == 3 && "abc".indexOf("x") == -1',
  '"abc".substring(1) == "bc" && "abc".substring(1, 2) == "b"',
  'int("12") == 12 && int(1.9) == 1 && int(7) == 7',
  'double("1.5") == 1.5 && double(1) == 1.0 && double(2.5) == 2.5',
  'string(1) == "1" && string(1.5) == "1.5" && string(true) == "true" && string("a") == "a"',
  '"a1b22".countMatches("[0-9]+") == 2 && "aaa".countMatches("") == 4 && "a".countMatches("b") == 0',
  '"abc".containsAny(["x", "b"]) && !"abc".containsAny(["x"]) && !"abc".containsAny([])',
  'clamp(1.5) == 1.0 && clamp(-0.5) == 0.0 && clamp(0.25) == 0.25',
  'timestamp("2026-01-01T12:00:00Z") == now && timestamp(0) < now && now - timestamp(0) > now - now',
  'now.getFullYear() == 2026 && now.getMonth() == 0 && now.getDate() == 1 && now.getDayOfMonth() == 0',
  'now.getDayOfWeek() == 4 && now.getDayOfYear() == 0 && now.getHours() == 12 && now.getMinutes() == 0',
  'now.getSeconds() == 0 && now.getMilliseconds() == 0',
  'now.getHours("Asia/Kolkata") == 17 && now.getMinutes("Asia/Kolkata") == 30 && now.getHours("UTC") == 12',
  'now.getDate("Pacific/Kiritimati") == 2 && now.getDayOfWeek("Pacific/Kiritimati") == 5',
  'now.getFullYear("UTC") == 2026 && now.getMonth("UTC") == 0 && now.getDayOfMonth("UTC") == 0',
  'now.getDayOfYear("UTC") == 0 && now.getSeconds("UTC") == 0 && now.getMilliseconds("UTC") == 0',
  'timestamp("2026-07-01T12:00:00Z").getDayOfYear() == 181 && timestamp("2024-12-31T23:00:00Z").getDayOfYear("Asia/Tokyo") == 0',
  // An hour that Europe skips is an ordinary one elsewhere, whatever the zone of the host.
  'timestamp("2026-03-29T02:30:00Z").getHours("UTC") == 2 && timestamp("2026-03-29T01:30:00Z").getHours("Europe/Berlin") == 3',
];

describe('the language', () => {
  test.each(true_)('%s', (rule) => expect(scoreIn(rule)).toBe(10_000));

  test('every request variable', () => {
    const view = requestOf({
      ...{ endpoint: 'responses', model: 'm', maxTokens: 7, inputTokens: 8, stream: true, system: 'S' },
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
      ],
      tools: [{ name: 'a' }, { name: 'b' }],
      metadata: { user_id: 'u' },
    });
    for (const rule of [
      'request.endpoint == "responses" && request.model == "m" && request.max_tokens == 7 && request.input_tokens == 8',
      'request.message_count == 2 && request.tool_count == 2 && request.stream',
      '!request.has_images && !request.has_documents && !request.has_thinking',
      'request.system == "S" && request.text == "S\\none\\ntwo" && request.user_text == "one" && request.last_user_text == "one"',
      'request.messages.exists(m, m.role == "assistant" && m.text == "two") && request.tool_names == ["a", "b"]',
      'has(request.metadata.user_id) && request.metadata.user_id == "u" && request.metadata.exists(k, k == "user_id")',
      'project.id.startsWith("proj_") && project.name == "Sample project" && key.id.startsWith("key_")',
      'key.name == "Sample key" && org.id.startsWith("org_") && org.tier == 1 && now > timestamp(0)',
    ]) {
      expect([rule, scoreIn(rule, view)]).toEqual([rule, 10_000]);
    }
  });

  test('every response variable', () => {
    const view = responseOf({
      content: [
        { type: 'text', text: 'a' },
        { type: 'tool_use', id: 't', name: 'shell', input: { cmd: 'ls "x"' } },
      ],
      stopReason: 'tool_use',
      outputTokens: 3,
    });
    const rule =
      'response.text == "a\\nshell\\ncmd\\nls \\"x\\"" && response.stop_reason == "tool_use" && response.output_tokens == 3 && request.text == "Hi" &&' +
      'response.tool_names == ["shell"] && response.tool_calls.exists(t, t.arguments == "{\\"cmd\\":\\"ls \\\\\\"x\\\\\\"\\"}")';
    expect(scoreIn(rule, view, 'response')).toBe(10_000);
  });

  test('says what a rule reads and gives', () => {
    const rule = accepted('has(request.metadata.team) ? 0.5 : double(request["max_tokens"])');
    expect([...rule.reads].sort()).toEqual(['request.max_tokens', 'request.metadata']);
    expect([rule.type, rule.direction, rule.patterns]).toEqual(['double', 'request', 0]);
  });
});
