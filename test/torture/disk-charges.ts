import { rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { complain, type Figures } from './figures.ts';
import { fillToTheLastByte } from './loop-disk.ts';
import { ask, eventsIn } from './models/asking.ts';
import { provider } from './models/provider.ts';
import { wholeAnswer } from './models/recorded.ts';
import { accountsOf, at, bodyOf, type Site, startSite } from './models/site.ts';
import { seeded } from './random.ts';
import type { Scene } from './scene.ts';

const careless = fileURLToPath(new URL('careless-journal.mjs', import.meta.url));
const clients = 16;
/** Answers before the disk is filled, and those after, of a gateway that does not mind. */
const [answersBefore, answersAfter] = [50, 300];
/** The longest that an answer takes, so that requests are in flight whenever the disk gets full. */
const answerMs = 200;
/** A disk on which nobody writes but the gateway is full for it within this time, or never. */
const fullWithinMs = 60_000;
const recoveryMs = 5_000;

/** Of a request that was answered whole: what its account has to say. */
interface Answered {
  readonly output: number;
}

/** As `wholeAnswer` tells it. */
const input = 21;
const outputOf = (isStream: boolean): number => (isStream ? 9 : 1);

export interface FullDisk {
  /** Where it is mounted: nobody else writes there. */
  readonly path: string;
  /** For complaints. */
  readonly name: string;
  readonly end: 'SIGKILL' | 'SIGTERM';
  readonly seed: number;
  readonly cycle: number;
  readonly canary: boolean;
}

/** Clients that ask one thing after another, whole and streamed. */
class Crowd {
  readonly answered = new Map<string, Answered>();
  refused = 0;
  #isOver = false;
  #next = 0;
  #all: Promise<unknown> = Promise.resolve();

  begin(site: Site): void {
    this.#all = Promise.all(Array.from({ length: clients }, () => this.#client(site)));
  }

  end(): Promise<unknown> {
    this.#isOver = true;
    return this.#all;
  }

  /** So many answers of any kind have come. */
  get told(): number {
    return this.answered.size + this.refused;
  }

  async #client(site: Site): Promise<void> {
    while (!this.#isOver) {
      const n = this.#next++;
      const isStream = n % 2 === 1;
      const { status, text, isWhole, headers } = await ask(site, bodyOf(n, isStream, 'steady'));
      if (status === 503) this.refused++;
      const isAnswered = status === 200 && isWhole && (!isStream || eventsIn(text).at(-1)?.type === 'message_stop');
      if (isAnswered) this.answered.set(`${headers['request-id']}`, { output: outputOf(isStream) });
      else await wait(5);
    }
  }
}

/**
 * D5, by the money: a gateway is asked while its disk gets full, until it refuses, and is ended then. After a start on the disk
 * with room every request that was answered is charged by what its upstream has counted, once; so is, whatever it was told of
 * it, every other that its upstream was asked. The canary's gateway takes what finds no room for written.
 */
export async function chargedOnAFullDisk(scene: Scene, disk: FullDisk, figures: Figures): Promise<void> {
  const random = seeded(disk.seed, disk.cycle);
  const asked = new Set<string>();
  const { url } = await provider(scene, ({ n, requestId, isStream, socket }) => {
    asked.add(requestId);
    setTimeout(() => socket.write(wholeAnswer(n, isStream)), random.between(0, answerMs));
  });
  const start = (env = {}): Promise<Site> => startSite(scene, { steady: { upstream: at(url) } }, env, disk.path);
  const complaint = (sentence: string): void => complain(figures, `${disk.name}: ${sentence}`);

  const site = await start(disk.canary ? { NODE_OPTIONS: `--import=${careless}` } : {});
  const crowd = new Crowd();
  crowd.begin(site);
  while (crowd.answered.size < answersBefore) await wait(5);
  const before = crowd.answered.size;
  const began = performance.now();
  const isFull = (): boolean =>
    disk.canary ? crowd.answered.size > before + answersAfter : crowd.refused >= 2 * clients;
  let others = '';
  while (!isFull() && performance.now() - began < fullWithinMs) {
    // Again, since the store gives its ballast away.
    others = fillToTheLastByte(disk.path);
    // Meanwhile nobody is asked here: the clients get their turn before the disk is looked at again.
    const told = crowd.told;
    for (let n = 0; n < 100 && crowd.told < told + clients && !isFull(); n++) await wait(20);
  }
  if (!isFull())
    complaint(`${crowd.answered.size - before} more were answered on a full disk, ${crowd.refused} refused`);
  if (disk.end === 'SIGKILL') await site.kill();
  else await site.stop();
  await crowd.end();
  rmSync(others);

  const again = await start();
  figures.restartMs.push(again.readyMs);
  const since = performance.now();
  while ((await ask(again, bodyOf(0, false, 'steady'))).status !== 200) {
    if (performance.now() - since > recoveryMs) return complaint('no request is taken though there is room');
    await wait(20);
  }
  const accounts = new Map<string, Settlement[]>();
  for (const each of await accountsOf(again)) {
    accounts.set(each.request_id, [...(accounts.get(each.request_id) ?? []), each]);
  }
  figures.acknowledged += crowd.answered.size;
  for (const [id, { output }] of crowd.answered) {
    const [account] = accounts.get(id) ?? [];
    const told =
      account && `${account.usage_source} ${account.status} ${account.input_tokens} ${account.output_tokens}`;
    if (account === undefined) figures.lost++;
    if (told !== `final 200 ${input} ${output}`) complaint(`${id} was answered and is charged ${told ?? 'nothing'}`);
  }
  for (const id of asked) if (!accounts.has(id)) complaint(`the upstream was asked ${id}, which has no account`);
  for (const [id, { length }] of accounts) {
    if (length === 1) continue;
    figures.doubled++;
    complaint(`${id} is charged ${length} times`);
  }
}
