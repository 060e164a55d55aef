import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import {
  checkedCel,
  checkPathOf,
  forgetterOf,
  renameMethod,
  replaceLiteral,
  typeOf,
} from '../../src/rules/language/cel-internals.ts';
import { environments } from '../../src/rules/language/environment.ts';
import {
  beforeSimulation,
  checkedRe2,
  limitMemory,
  limitStates,
  rangesOf,
} from '../../src/rules/language/patterns/re2-internals.ts';
import { type Node, nodesOf } from '../../src/rules/language/tree.ts';
import { installedVersion } from '../support/installed.ts';
import { requestOf } from './rule.ts';

/** Whether it is still there once all that nobody holds has been collected. */
const isHeld = async (object: WeakRef<object>): Promise<boolean> => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    // A reference that was made or asked in this turn of the loop holds on until its end.
    await new Promise((resolve) => setImmediate(resolve));
    gc();
  }
  return object.deref() !== undefined;
};

describe('what is used of the inside of cel-js', () => {
  test('was checked against the version that is installed', () => {
    expect(installedVersion('@marcbachmann/cel-js')).toBe(checkedCel);
  });

  test('every expression has its type after the check, and none before', () => {
    const parsed = environments.request.parse('size(request.text) + 1 == 2 && [1.5].exists(x, x > 1.0)');
    expect([...nodesOf(parsed.ast)].filter((node) => typeOf(node) !== undefined)).toEqual([]);
    expect(parsed.check().error).toBeUndefined();
    const types = [...nodesOf(parsed.ast)].map((node) => [node.op, typeOf(node)?.name, typeOf(node)?.kind]);
    expect(types).toContainEqual(['list', 'list<double>', 'list']);
    expect(types).toContainEqual(['+', 'int', 'primitive']);
    expect(types.every(([, name]) => name !== undefined)).toBe(true);
    expect([...nodesOf(parsed.ast)].some((node) => typeOf(node)!.hasDynType)).toBe(false);
  });

  test('a comprehension keeps what it has seen until it is told to forget', async () => {
    const parsed = environments.request.parse('request.messages.exists(m, m.text == "the last")');
    const forgetters = () => [...nodesOf(parsed.ast)].flatMap((node) => forgetterOf(node) ?? []);
    expect(forgetters()).toHaveLength(0);
    parsed.check();
    expect(forgetters()).toHaveLength(1);
    const evaluated = (): WeakRef<object> => {
      const { variables } = requestOf({ messages: [{ role: 'user', content: 'the last' }] });
      expect(parsed(variables)).toBe(true);
      return new WeakRef(variables.request as object);
    };
    const seen = evaluated();
    expect(await isHeld(seen)).toBe(true);
    for (const forget of forgetters()) forget();
    expect(await isHeld(seen)).toBe(false);
    evaluated();
  });

  test('the path of has() is checked to its end', () => {
    const errorOf = (prepare: (has: Node) => void) => {
      const parsed = environments.request.parse('has(request.misspelt.field)');
      prepare(parsed.ast);
      return parsed.check().error;
    };
    expect(errorOf(checkPathOf)).toBeDefined();
  });

  test('literals and names of methods are changed in the tree', () => {
    const parsed = environments.request.parse('"a".startsWith("b")');
    const { ast } = parsed;
    if (ast.op !== 'rcall') throw new Error('no call of a method');
    expect(parsed({})).toBe(false);
    const other = environments.request.parse('"a".startsWith("b")');
    if (other.ast.op !== 'rcall') throw new Error('no call of a method');
    renameMethod(other.ast, 'endsWith');
    replaceLiteral(other.ast.args[2][0]!, 'a');
    expect(other.check().error).toBeUndefined();
    expect(other({})).toBe(true);
    expect(other.ast.args[0]).toBe('endsWith');
  });
});

describe('what is used of the inside of re2js', () => {
  const withoutMemory = (engine: RE2JS): void => {
    limitMemory(engine, 0);
    limitStates(engine, 0);
  };

  test('was checked against the version that is installed', () => {
    expect(installedVersion('re2js')).toBe(checkedRe2);
  });

  test('the ranges of classes are counted', () => {
    expect(rangesOf(RE2JS.compile('[a-cx-z]'))).toBe(2);
    expect(rangesOf(RE2JS.compile('[a-c][0-9][x-z]'))).toBe(3);
    expect(rangesOf(RE2JS.compile(String.raw`\pL`))).toBeGreaterThan(500);
  });

  test('what the automaton has no memory for is simulated, and that is told before', () => {
    // Shorter ones are searched by backtracking, within bounds.
    const text = `${'ab'.repeat(50_000)}cb`;
    const toldWith = (prepare: (engine: RE2JS) => void): number[] => {
      const engine = RE2JS.compile('[ab]*a[ab]{15}c');
      const told: number[] = [];
      beforeSimulation(engine, (characters) => told.push(characters));
      prepare(engine);
      engine.test(text);
      return told;
    };
    expect(toldWith(() => {})).toEqual([]);
    expect(toldWith(withoutMemory)).toEqual([text.length]);
  });

  test('an automaton that is full starts over, or gives up where its states may take nothing', () => {
    const mixed = Array.from({ length: 100_000 }, (_, i) => ((i * 7919) % 13 < 6 ? 'a' : 'b'))
      .join('')
      .concat('ccb');
    const simulations = (states: number): number => {
      const engine = RE2JS.compile('[ab]*a[ab]{15}c');
      let told = 0;
      beforeSimulation(engine, () => {
        told += 1;
      });
      limitMemory(engine, 4096);
      limitStates(engine, states);
      engine.test(mixed);
      return told;
    };
    expect(simulations(0)).toBe(1);
    expect(simulations(512 * 1024)).toBe(0);
  });

  test('what is thrown before a simulation ends the match', () => {
    const engine = RE2JS.compile('(a+)+b');
    withoutMemory(engine);
    beforeSimulation(engine, () => {
      throw new RangeError('too long');
    });
    expect(() => engine.test(`${'a'.repeat(100_000)}cb`)).toThrow('too long');
  });
});
