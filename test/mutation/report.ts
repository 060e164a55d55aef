import { z } from 'zod';
import { type Guarded, guarded } from './guarded.ts';

/** What is read of Stryker's report: https://github.com/stryker-mutator/mutation-testing-elements, schema 1. */
const reportSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      mutants: z.array(
        z.object({
          status: z.string(),
          mutatorName: z.string(),
          replacement: z.string().optional(),
          location: z.object({ start: z.object({ line: z.number(), column: z.number() }) }),
        }),
      ),
    }),
  ),
});

export interface Score {
  readonly name: Guarded;
  readonly mutants: number;
  readonly noticed: number;
  /** `file:line:column mutator replacement` of those that no test has noticed. */
  readonly survived: readonly string[];
}

const isNoticed = (status: string): boolean => status === 'Killed' || status === 'Timeout';
const isTried = (status: string): boolean => isNoticed(status) || status === 'Survived' || status === 'NoCoverage';

/** @throws Error where the report lacks one of the modules */
export const scoreOf = (report: unknown, name: Guarded): Score => {
  const { files } = reportSchema.parse(report);
  const tried = guarded[name].modules.flatMap((file) => {
    const found = files[file];
    if (!found) throw new Error(`The report says nothing of ${file}.`);
    return found.mutants.filter(({ status }) => isTried(status)).map((mutant) => ({ file, ...mutant }));
  });
  const survived = tried.filter(({ status }) => !isNoticed(status));
  return {
    name,
    mutants: tried.length,
    noticed: tried.length - survived.length,
    survived: survived.map(
      ({ file, location: { start }, mutatorName, replacement = '' }) =>
        `${file}:${start.line}:${start.column} ${mutatorName} ${replacement.replaceAll(/\s+/g, ' ')}`,
    ),
  };
};

export const percent = ({ mutants, noticed }: Score): number => (mutants === 0 ? 0 : (100 * noticed) / mutants);
