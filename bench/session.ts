import { environment } from './machine/environment.ts';
import { choosePinning } from './machine/pin.ts';
import { loadNow, machineTicks, stealShare } from './machine/proc-stat.ts';
import type { Surroundings } from './measure.ts';
import type { Cores } from './options.ts';
import { invalidated } from './report/bar.ts';
import { contenderResults, cpuSeries } from './report/contender.ts';
import { requestsIn } from './report/figures.ts';
import type { Result, ScenarioResult } from './report/result.ts';
import { judge, type Verdict } from './report/validity.ts';
import type { Findings, Scenario } from './scenarios/scenario.ts';
import { openStage, type StageOptions, type StageSettings } from './stage.ts';

/** What a command needs to run scenarios: how it shows what it does, how it is stopped, what it must leave behind. */
export interface Session {
  readonly interrupted: AbortSignal;
  /** Takes what ends the processes of the present scenario. */
  readonly undo: (() => Promise<void>)[];
  readonly say: (text: string) => void;
  readonly tell: StageOptions['tell'];
  readonly command: string;
}

const endAll = async (undo: (() => Promise<void>)[]): Promise<void> => {
  for (let step = undo.pop(); step; step = undo.pop()) await step();
};

const verdictOf = (findings: Findings, surroundings: Surroundings, cores: number): Verdict => {
  const { measured = [], rounds = null } = findings;
  const bare = measured.find(({ contender }) => contender.name === 'hello');
  const results = contenderResults(measured);
  // What only counts, and measures no time, is as true on a busy machine.
  const around = measured.length === 0 ? { load: { before: 0, after: 0 }, steal: null } : surroundings;
  return judge({
    ...around,
    rounds,
    cores,
    bare: bare && cpuSeries(bare.samples),
    reasons: findings.invalid ?? [],
    loads: results.map(
      ({ name, label, purpose, generatorShare, serverShare, sleepsPerRequest, latency, statuses }) => ({
        name,
        label,
        purpose,
        generatorShare,
        serverShare,
        sleepsPerRequest,
        requests: requestsIn(statuses),
        lagP99: latency.lag?.p99 ?? null,
      }),
    ),
  });
};

const failedVerdict = (error: unknown): Verdict => ({
  is: 'INVALID',
  invalid: [`it failed: ${error instanceof Error ? error.message : String(error)}`],
  rates: [],
  unratedNames: [],
});

/** Runs one scenario on a stage of its own and reduces what it found. */
const runScenario = async (scenario: Scenario, session: Session, settings: StageSettings, pin: Cores | undefined) => {
  const { id, title, about } = scenario;
  const began = performance.now();
  const before = { load: loadNow(), ticks: machineTicks() };
  const around = (): Surroundings => ({
    load: { before: before.load, after: loadNow() },
    steal: stealShare(before.ticks, machineTicks()),
  });
  const common = () => ({ id, title, about, seconds: (performance.now() - began) / 1000 });
  try {
    const options: StageOptions = { ...session, settings, pinning: choosePinning(pin) };
    const findings = await scenario.run(await openStage(options, session.undo));
    const surroundings = findings.surroundings ?? around();
    const contenders = contenderResults(findings.measured ?? []);
    // A scenario that only counts has no contenders.
    const isCutOff = session.interrupted.aborted && contenders.length === 0 && (findings.truth ?? []).length === 0;
    const invalid = [
      ...(findings.invalid ?? []),
      ...(isCutOff ? ['it was interrupted before it had measured anything'] : []),
    ];
    const verdict = verdictOf({ ...findings, invalid }, surroundings, environment().cores);
    const bars = findings.barsOf?.(new Map(contenders.map((each) => [each.name, each]))) ?? [];
    return {
      ...common(),
      surroundings,
      contenders,
      bars: verdict.is === 'INVALID' ? bars.map(invalidated) : bars,
      curves: findings.curves ?? [],
      truth: findings.truth ?? [],
      notes: findings.notes ?? [],
      verdict,
    } satisfies ScenarioResult;
  } catch (error) {
    const nothing = { contenders: [], bars: [], curves: [], truth: [], notes: [] };
    return { ...common(), surroundings: around(), ...nothing, verdict: failedVerdict(error) } satisfies ScenarioResult;
  } finally {
    await endAll(session.undo);
  }
};

/** The settings without what is secret. */
const shownSettings = ({ otherKey: _, others, ...rest }: StageSettings): Result['settings'] => ({
  ...rest,
  others: others.map(({ name, url }) => ({ name, url: url.origin })),
});

/** Runs scenarios one after another; what was measured before an interruption is kept. */
export const runScenarios = async (
  scenarios: readonly Scenario[],
  session: Session,
  settings: StageSettings,
  pin?: Cores,
): Promise<Result> => {
  const began = performance.now();
  const at = new Date().toISOString();
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    if (session.interrupted.aborted) break;
    session.say(`${scenario.id}: ${scenario.title}`);
    results.push(await runScenario(scenario, session, settings, pin));
  }
  return {
    schema: 2,
    command: session.command,
    at,
    seconds: (performance.now() - began) / 1000,
    interrupted: session.interrupted.aborted,
    environment: environment(),
    pinning: choosePinning(pin),
    settings: shownSettings(settings),
    scenarios: results,
  };
};
