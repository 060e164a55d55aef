import { describe, expect, test } from 'vitest';
import { accepted, refused } from './rule.ts';

/** Rule, part of the message, and where: line and column count from 1. */
const cases: readonly (readonly [string, string, number, number])[] = [
  // not the language at all
  ['', 'not empty', 1, 1],
  ['1 +', 'Unexpected token', 1, 4],
  ['true &&\n  (false', 'Expected RPAREN', 2, 9],
  ['request.text == "a', 'Unterminated string', 1, 17],
  ['true @', 'Unexpected character', 1, 6],
  ['true; true', 'Unexpected character', 1, 5],
  ['request.text == "\\q"', 'Invalid escape', 1, 18],
  ['if', 'Reserved identifier', 1, 1],
  // names
  ['foo == 1', 'no variable "foo"', 1, 1],
  ['cel == 1', 'no variable "cel"', 1, 1],
  ['string == int', 'no variable "string"', 1, 1],
  ['google.protobuf == 1', 'no variable "google"', 1, 1],
  ['request', 'group of variables', 1, 1],
  ['request == request', 'group of variables', 1, 1],
  ['response.text == ""', 'response direction', 1, 1],
  ['request[request.model] == 1', 'must be written out', 1, 1],
  ['request.txt == ""', 'No such key: txt', 1, 9],
  ['request.values == 1', 'No such key: values', 1, 9],
  ['request.constructor == 1', 'No such key: constructor', 1, 9],
  ['has(request.metdata.team)', 'No such key: metdata', 1, 13],
  ['request.messages.exists(m, m.txt == "")', 'No such key: txt', 1, 30],
  ['request.messages.exists(request, true)', 'hides another', 1, 18],
  ['request.messages.exists(now, true)', 'hides another', 1, 18],
  ['request.messages.exists(response, true)', 'hides another', 1, 18],
  ['[1].exists(x, [1].exists(x, true))', 'hides another', 1, 19],
  // operations that can grow without bound, and functions that are not on the list
  ['request.text + "a" == "b"', 'adds numbers and times only', 1, 1],
  ['request.tool_names + ["a"] == []', 'adds numbers and times only', 1, 1],
  ['[1].exists(x, "a" + string(x) == "")', 'adds numbers and times only', 1, 15],
  ['cel.bind(x, 1, x == 1)', 'function "bind"', 1, 5],
  ['[1].map(x, x) == [1]', 'function "map"', 1, 5],
  ['request.text.split(",").size() > 1', 'function "split"', 1, 14],
  ['request.tool_names.join(",") == ""', 'function "join"', 1, 20],
  ['request.text.lastIndexOf("a") == 1', 'function "lastIndexOf"', 1, 14],
  ['bytes("a").size() == 1', 'function "bytes"', 1, 1],
  ['b"a" == b"a"', 'Bytes', 1, 1],
  ['1u == 1u', 'Unsigned', 1, 1],
  ['uint(1) == 1', 'function "uint"', 1, 1],
  ['bool("true")', 'function "bool"', 1, 1],
  ['dyn(1) == 1', 'function "dyn"', 1, 1],
  ['type(1) == type(2)', 'function "type"', 1, 1],
  ['duration("1h") > duration("1m")', 'function "duration"', 1, 1],
  ['optional.none().hasValue()', 'function "hasValue"', 1, 17],
  ['request.?text == ""', 'Expected IDENTIFIER', 1, 9],
  ['request.metadata[?"a"] == ""', 'Unexpected token', 1, 18],
  ['"a".re2_matches("a")', 'function "re2_matches"', 1, 5],
  ['"a".ascii_lower() == "a"', 'function "ascii_lower"', 1, 5],
  ['matches("a", "a")', 'function "matches"', 1, 1],
  ['Pattern("a") == 1', 'function "Pattern"', 1, 1],
  // macros and patterns
  ['request.messages.exists(m)', 'takes a variable and a condition', 1, 18],
  ['request.messages.exists(m, 1, true)', 'takes a variable and a condition', 1, 18],
  ['request.messages.exists(m.text, true)', 'iteration variable', 1, 27],
  ['request.text.exists(c, true)', 'cannot be range', 1, 9],
  ['has(request)', 'group of variables', 1, 5],
  ['has("a")', 'invalid argument', 1, 5],
  ['request.text.matches(request.model)', 'string literal', 1, 22],
  ['request.text.matches("a" == "a" ? "b" : "c")', 'string literal', 1, 22],
  ['request.text.matches()', 'string literal', 1, 14],
  ['request.text.matches("(")', 'not valid', 1, 22],
  ['request.text.matches("(?=a)")', 'not valid', 1, 22],
  ['request.text.matches("(a)\\\\1")', 'not valid', 1, 22],
  ['request.text.countMatches("[") > 0', 'not valid', 1, 27],
  ['request.text.matches("a{1001}")', 'not valid', 1, 22],
  ['request.text.matches("(?:a{1000}){2}")', 'not valid', 1, 22],
  ['now.getHours("Nowhere/Land") == 1', 'time zone', 1, 14],
  ['now.getHours(project.name) == 1', 'time zone', 1, 14],
  // types
  ['request.max_tokens', 'gives a bool or a double, and this one "int"', 1, 1],
  ['"a"', '"string"', 1, 1],
  ['now', 'Timestamp', 1, 1],
  ['[true]', '"list<bool>"', 1, 1],
  ['request.messages.filter(m, true)', '"list<Message>"', 1, 1],
  ['request.max_tokens == "a"', 'no such overload: int == string', 1, 1],
  ['true &&\n\n  request.max_tokens > 1.0 &&\n  request.stream > 1', 'no such overload: bool > int', 4, 3],
  ['request.text.contains(1)', "overload for 'string.contains(int)'", 1, 1],
  ['request.max_tokens.matches("a")', "overload for 'int.matches(string)'", 1, 1],
  ['request.max_tokens.lowerAscii() == "a"', "overload for 'int.lowerAscii()'", 1, 1],
  ['project.name.getHours("UTC") == 1', "overload for 'string.getHours(string)'", 1, 1],
  ['clamp(1) == 1.0', "overload for 'clamp(int)'", 1, 1],
  ['size(1) == 1', "overload for 'size(int)'", 1, 1],
  ['1 && true', 'Logical operator requires bool', 1, 1],
  ['!1', 'no such overload: !int', 1, 1],
  ['-"a" == "b"', 'no such overload: -string', 1, 1],
  ['true ? 1.0 : "a"', 'same type', 1, 1],
  ['1 ? true : false', 'must be bool', 1, 1],
  ['[1, "a"] == []', 'same type', 1, 5],
  ['{"a": 1, "b": "c"} == {}', 'wrong type', 1, 15],
  ['request.messages["a"] == 1', 'must be int', 1, 1],
  ['request.messages.exists(m, m.text)', 'must return bool', 1, 30],
  ['request.text.foo == 1', 'Cannot index type', 1, 14],
  ['[][0] == 1', 'not known', 1, 1],
  ['9223372036854775808 > 1', '64 bits', 1, 1],
  ['-9223372036854775809 < 1', '64 bits', 1, 2],
  // the trial
  ['request.metadata["team"] == "x"', 'fails on sample request 1: No such key: team', 1, 1],
  ['request.metadata.team == "x"', 'No such key: team', 1, 18],
  ['request.messages[1].role == "user"', 'index out of bounds', 1, 1],
  ['10 / request.tool_count > 1', 'division by zero', 1, 1],
  ['request.text.substring(0, 5) == "Hello"', 'out of range', 1, 1],
  ['0.0 / 0.0', 'not a number', 1, 1],
  ['clamp(0.0 / 0.0)', 'not a number', 1, 1],
  ['int(request.text) > 1', 'cannot convert', 1, 1],
  ['9223372036854775807 + request.max_tokens > 0', 'overflow', 1, 1],
];

describe('compileRule refuses', () => {
  test.each(cases)('%s', (rule, message, line, column) => {
    const [error] = refused(rule);
    expect(error?.message).toContain(message);
    expect([error?.line, error?.column]).toEqual([line, column]);
  });

  test('with columns in code points and lines by line feeds', () => {
    expect(refused('"😀é" == "" && foo')[0]).toMatchObject({ line: 1, column: 15 });
    expect(refused('true &&\r\n\ttrue &&\r\n\tfoo')[0]).toMatchObject({ line: 3, column: 2 });
  });

  test('all that is outside the language at once, and no more than 20 errors', () => {
    expect(refused('foo && project.id.split(",") && dyn(1)').map(({ column }) => column)).toEqual([1, 19, 33]);
    expect(refused(Array.from({ length: 30 }, (_, i) => `x${i}`).join(' && '))).toHaveLength(20);
  });

  test('a rule of the response direction on the sample answers', () => {
    expect(refused('response.tool_calls[0].name == "shell"', 'response')[0]?.message).toContain('sample request 1');
    accepted('response.tool_calls.size() > 0 && response.tool_calls[0].name == "shell"', 'response');
  });
});
