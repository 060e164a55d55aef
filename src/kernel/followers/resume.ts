import type { Checkpoint, KeptCheckpoint } from './checkpoint.ts';

export interface ResumePoint<Of> {
  readonly of: Of;
  readonly checkpoint: KeptCheckpoint | undefined;
  readonly damage: Error | undefined;
}

/** Reads the checkpoints of followers; those of another version or another log are dropped. */
export const resumePoints = async <Of extends { readonly name: string; readonly version: number }>(
  all: readonly Of[],
  options: {
    readonly read: (of: Of) => { readonly kept?: KeptCheckpoint | undefined; readonly damage?: Error | undefined };
    readonly whyUnfit: (checkpoint: Checkpoint) => Promise<string | undefined>;
    /** The reason given for another version. */
    readonly changed: string;
    /** The reason given for damage; absent where damage is reported otherwise. */
    readonly whyDamaged?: (damage: Error) => string;
    readonly beginAgain: (reason: string, names: readonly string[]) => void;
  },
): Promise<ResumePoint<Of>[]> => {
  const points: ResumePoint<Of>[] = [];
  const unfit = new Map<string, string[]>();
  for (const of of all) {
    const { kept, damage } = options.read(of);
    const found = damage ? undefined : kept;
    const why = found && (found.version === of.version ? await options.whyUnfit(found) : options.changed);
    const reason = damage ? options.whyDamaged?.(damage) : why;
    if (reason !== undefined) unfit.set(reason, [...(unfit.get(reason) ?? []), of.name]);
    points.push({ of, checkpoint: reason === undefined ? found : undefined, damage });
  }
  for (const [reason, names] of unfit) options.beginAgain(reason, names);
  return points;
};
