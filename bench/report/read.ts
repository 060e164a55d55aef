import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Result } from './result.ts';

const schema = JSON.parse(readFileSync(new URL('./result.schema.json', import.meta.url), 'utf8')) as object;
const validate = new Ajv2020({ allErrors: true, strictTypes: false }).compile<Result>(schema);

/** What of a value is not as result.schema.json says; empty where all is. */
export const faultsOf = (value: unknown): readonly string[] =>
  validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '(root)'} ${message}`);

/** @throws Error in a sentence for what is no result of this version */
export const readResult = (file: string): Result => {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} cannot be read as a result: ${(error as Error).message}`);
  }
  const version = (value as { schema?: unknown } | null)?.schema;
  if (version !== 2) throw new Error(`${file} is a result of schema ${String(version)}; this reads 2.`);
  const [fault] = faultsOf(value);
  if (fault !== undefined) throw new Error(`${file} is not a result: ${fault}.`);
  return value as Result;
};
