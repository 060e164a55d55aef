import { describe, expect, test } from 'vitest';
import { BadOptions, readOptions } from '../../bench/options.ts';
import { contendersOf } from '../../bench/scenarios/names.ts';

describe('the options', () => {
  test('have defaults that are judged and fit into two minutes', () => {
    const { rounds, seconds, connections, json, only } = readOptions([]);
    expect({ connections, json, only }).toEqual({
      connections: 64,
      json: null,
      only: ['hello', 'models', 'messages', 'appends'],
    });
    expect(rounds).toBeGreaterThanOrEqual(5);
    expect(contendersOf(only).length * (rounds * (seconds + 0.3) + 3)).toBeLessThan(115);
  });

  test('are read', () => {
    const args = [
      '--rounds',
      '9',
      '--seconds',
      '0.5',
      '--connections=8',
      '--json',
      'out.json',
      '--only',
      'messages, hello',
    ];
    expect(readOptions(args)).toEqual({
      rounds: 9,
      seconds: 0.5,
      connections: 8,
      json: 'out.json',
      only: ['hello', 'messages'],
      help: false,
    });
  });

  test.each([
    [['--rounds', '0'], /--rounds must be a whole number from 1 to 100/],
    [['--rounds', '1.5'], /--rounds must be a whole number/],
    [['--rounds', 'many'], /--rounds/],
    [['--rounds', '1e1'], /--rounds/],
    [['--rounds='], /--rounds/],
    [['--seconds', '0.1'], /--seconds must be a number from 0\.2 to 600/],
    [['--seconds', 'NaN'], /--seconds/],
    [['--connections', '2000'], /--connections must be a whole number from 1 to 1024/],
    [['--only', 'model'], /--only does not know "model"; there are hello, models, messages, appends/],
    [['--only', ''], /--only does not know ""/],
    [['--only', 'puts'], /--only does not know "puts"/],
    [['--json', ''], /--json needs the name of a file/],
    [['--json'], /--json/],
    [['--fast'], /--fast/],
    [['run'], /run/],
  ])('%j are refused', (args, message) => {
    expect(() => readOptions(args)).toThrow(BadOptions);
    expect(() => readOptions(args)).toThrow(message);
  });
});

describe('what is measured', () => {
  test('includes the unit of what was asked for', () => {
    expect(contendersOf(['models'])).toEqual(['hello', 'models']);
    expect(contendersOf(['appends'])).toEqual(['appends', 'puts']);
    expect(contendersOf(['hello'])).toEqual(['hello']);
  });
});
