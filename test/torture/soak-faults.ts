import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster, Member } from '../support/cluster.ts';
import type { Random } from './random.ts';

/** What can be done to a cluster, and undone. */
export interface Stage {
  readonly cluster: Cluster;
  /** The member that leads, or led last. */
  leader: number;
  readonly random: Random;
  /** The store behind the members, where it is ours: frozen and let go, and killed and started anew, at another place perhaps. */
  readonly store: { freeze(): void; thaw(): void; restart(): Promise<string> } | undefined;
}

export interface Fault {
  readonly name: string;
  /**
   * Does it, and undoes it about so many milliseconds later. Calls `healed` where a leader answers again, or has never
   * ceased to: from there on commands have to work.
   */
  strike(stage: Stage, lastsMs: number, healed: () => void): Promise<void>;
}

/** How long an election takes: a real cluster's were over after 1.3 to 4.6 s, and the wait for silence is a part of that. */
const electionMs = [100, 2_000] as const;

const lead = (stage: Stage, member: number): void => {
  stage.leader = member;
  stage.cluster.lead(member);
};

const another = ({ leader, random }: Stage): number => random.pick([0, 1, 2].filter((index) => index !== leader));

const cut = async (member: Member): Promise<void> => {
  member.kill();
  await member.revive();
};

/** The leader is gone in some way; for a while nobody leads, then another does. */
const elect = async (stage: Stage, healed: () => void): Promise<void> => {
  const next = another(stage);
  stage.cluster.lead(undefined);
  await wait(stage.random.between(...electionMs));
  lead(stage, next);
  healed();
};

const leaderKilled: Fault = {
  name: 'leader killed',
  async strike(stage, lastsMs, healed) {
    const old = stage.cluster.members[stage.leader]!;
    old.kill();
    await elect(stage, healed);
    await wait(lastsMs);
    await old.revive();
  },
};

const leaderFrozen: Fault = {
  name: 'leader frozen',
  async strike(stage, lastsMs, healed) {
    const old = stage.cluster.members[stage.leader]!;
    old.freeze();
    await elect(stage, healed);
    await wait(lastsMs);
    old.thaw();
  },
};

const followersFrozen: Fault = {
  name: 'followers frozen',
  async strike(stage, lastsMs, healed) {
    const { leader } = stage;
    const { members } = stage.cluster;
    const followers = members.filter((_, index) => index !== leader);
    // One or both of them; and whoever was at the leader has to find a node anew, some among them first of all a frozen one.
    const frozen = stage.random.next() < 0.5 ? followers : [stage.random.pick(followers)];
    for (const each of frozen) each.freeze();
    healed();
    await cut(members[leader]!);
    await wait(lastsMs);
    for (const each of frozen) each.thaw();
  },
};

const noQuorum: Fault = {
  name: 'no quorum',
  async strike(stage, lastsMs, healed) {
    stage.cluster.lead(undefined);
    await wait(lastsMs);
    lead(stage, stage.random.between(0, 2));
    healed();
  },
};

const swallowing = (what: 'appends' | 'answers to appends'): Fault => ({
  name: what === 'appends' ? 'appends hang' : 'answers to appends lost',
  async strike({ cluster }, lastsMs, healed) {
    for (const member of cluster.members) member.swallow(what);
    await wait(lastsMs);
    for (const member of cluster.members) member.swallow(undefined);
    healed();
  },
});

const allGone: Fault = {
  name: 'all gone and back',
  async strike(stage, lastsMs, healed) {
    const { members } = stage.cluster;
    for (const member of members) member.kill();
    const [endpoint] = await Promise.all([stage.store?.restart(), wait(lastsMs)]);
    if (endpoint !== undefined) stage.cluster.moveTo(endpoint);
    lead(stage, stage.random.between(0, 2));
    for (const member of members) await member.revive();
    healed();
  },
};

const connectionCut: Fault = {
  name: 'connection cut',
  async strike({ cluster, leader }, _, healed) {
    await cut(cluster.members[leader]!);
    healed();
  },
};

const leaderMoved: Fault = {
  name: 'leader moved',
  async strike(stage, _, healed) {
    lead(stage, another(stage));
    healed();
  },
};

const storeFrozen: Fault = {
  name: 'store stopped by SIGSTOP',
  async strike({ store }, lastsMs, healed) {
    store!.freeze();
    await wait(lastsMs);
    store!.thaw();
    healed();
  },
};

/** What only loses answers: for the canary, whose appends cannot be known again. */
export const answersLost: Fault = swallowing('answers to appends');

const anywhere: readonly Fault[] = [
  leaderKilled,
  leaderFrozen,
  followersFrozen,
  noQuorum,
  swallowing('appends'),
  answersLost,
  allGone,
  connectionCut,
  leaderMoved,
];

/** So many faults: each kind comes once before any comes twice, in an order that chance decides. */
export const faultsOf = (count: number, random: Random, isOurs: boolean): Fault[] => {
  const faults: Fault[] = [];
  while (faults.length < count) {
    const deck = isOurs ? [...anywhere, storeFrozen] : [...anywhere];
    while (deck.length > 0) faults.push(...deck.splice(random.between(0, deck.length - 1), 1));
  }
  return faults.slice(0, count);
};
