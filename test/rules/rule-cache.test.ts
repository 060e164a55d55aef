import { describe, expect, test } from 'vitest';
import { isCompiled } from '../../src/rules/compile.ts';
import { RuleCache } from '../../src/rules/threads/rule-cache.ts';

describe('RuleCache', () => {
  test('compiles a version once', () => {
    const cache = new RuleCache();
    const first = cache.get('polv_1', 'true', 'request');
    expect(cache.get('polv_1', 'true', 'request')).toBe(first);
    expect(cache.get('polv_2', 'true', 'request')).not.toBe(first);
  });
  test('keeps the errors of what is not valid', () => {
    const cache = new RuleCache();
    const errors = cache.get('polv_1', 'foo', 'request');
    expect(isCompiled(errors)).toBe(false);
    expect(cache.get('polv_1', 'foo', 'request')).toBe(errors);
  });
  test('lets the least recently used go beyond 512 rules', () => {
    const cache = new RuleCache();
    const kept = cache.get('kept', 'true', 'request');
    const gone = cache.get('gone', 'true', 'request');
    for (let n = 0; n < 510; n += 1) cache.get(`polv_${n}`, 'true', 'request');
    expect(cache.size).toBe(512);
    expect(cache.get('kept', 'true', 'request')).toBe(kept);
    cache.get('one more', 'true', 'request');
    expect(cache.size).toBe(512);
    expect(cache.get('kept', 'true', 'request')).toBe(kept);
    expect(cache.get('gone', 'true', 'request')).not.toBe(gone);
  });
  test('lets rules go beyond 1000 patterns', () => {
    const cache = new RuleCache();
    const twenty = Array.from({ length: 20 }, () => 'request.text.matches("a")').join(' || ');
    for (let n = 0; n < 51; n += 1) cache.get(`polv_${n}`, twenty, 'request');
    expect(cache.size).toBe(50);
  });
});
