import { parseArgs } from 'node:util';
import { type ScenarioName, scenarioNames } from './scenarios/names.ts';

export interface Options {
  readonly rounds: number;
  /** Length of one measured window. */
  readonly seconds: number;
  readonly connections: number;
  /** Where the result goes as JSON. */
  readonly json: string | null;
  readonly only: readonly ScenarioName[];
  readonly help: boolean;
}

/** The command line is not understood; the message is one sentence. */
export class BadOptions extends Error {
  override readonly name = 'BadOptions';
}

export const usage = `Usage: npm run bench -- [options]
       npm run bench -- store [rounds] [seconds]   the embedded store beside bare LMDB and the empty framing
       npm run bench -- micro [rounds]             the rate limits alone beside rate-limiter-flexible

  --rounds N        interleaved rounds, 1 to 100 (default 7; fewer than 5 are not judged)
  --seconds S       length of each measurement, 0.2 to 600 (default 2)
  --connections N   keep-alive connections, 1 to 1024 (default 64)
  --only LIST       some of ${scenarioNames.join(',')} (default: all)
  --json FILE       write the result with every sample to FILE as well

Exit status: 0 valid, 1 the run failed, 2 bad options, 3 INVALID, 4 CPU per request valid but not every rate.
`;

const numberOf = (name: string, text: string, least: number, most: number, isWhole: boolean): number => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most) || (isWhole && !Number.isInteger(value))) {
    throw new BadOptions(`--${name} must be a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}.`);
  }
  return value;
};

const scenariosOf = (text: string): readonly ScenarioName[] => {
  const asked = text.split(',').map((name) => name.trim());
  for (const name of asked) {
    if (!(scenarioNames as readonly string[]).includes(name)) {
      throw new BadOptions(`--only does not know "${name}"; there are ${scenarioNames.join(', ')}.`);
    }
  }
  return scenarioNames.filter((name) => asked.includes(name));
};

/** @throws BadOptions with the first fault */
export const readOptions = (args: readonly string[]): Options => {
  const values = parse(args);
  if (values.json === '') throw new BadOptions('--json needs the name of a file.');
  return {
    rounds: numberOf('rounds', values.rounds, 1, 100, true),
    seconds: numberOf('seconds', values.seconds, 0.2, 600, false),
    connections: numberOf('connections', values.connections, 1, 1024, true),
    json: values.json ?? null,
    only: scenariosOf(values.only),
    help: values.help,
  };
};

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        rounds: { type: 'string', default: '7' },
        seconds: { type: 'string', default: '2' },
        connections: { type: 'string', default: '64' },
        only: { type: 'string', default: scenarioNames.join(',') },
        json: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new BadOptions((error as Error).message);
  }
};
