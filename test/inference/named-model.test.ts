import { expect, test } from 'vitest';
import { aliasTable } from '../../src/aliases.ts';
import { namedModel } from '../../src/data/request/named-model.ts';
import { aliasesOf } from '../../src/data/upstream/connect.ts';
import { principal } from './call.ts';
import { model } from './hosted.ts';

test('a model by its id is found by one look, whatever aliases there are', () => {
  const looks: string[] = [];
  const all = [model({ id: 'a', aliases: ['x', '*'] })];
  const models = {
    get: (id: string) => {
      looks.push(id);
      return id === 'a' ? { model: all[0]! } : undefined;
    },
    get aliases(): never {
      throw new Error('the aliases were looked at');
    },
  };
  const caller = { ...principal(), modelAliases: aliasTable([['a', 'b']]) };
  expect(namedModel(models, 'a', caller)?.model.id).toBe('a');
  expect(looks).toEqual(['a']);
});

test('without aliases an unknown name is found by one look too', () => {
  const looks: string[] = [];
  const models = { get: (id: string) => void looks.push(id), aliases: aliasesOf([model()]) };
  expect(models.aliases).toBeNull();
  expect(namedModel(models, 'a', principal())).toBeUndefined();
  expect(looks).toEqual(['a']);
});
