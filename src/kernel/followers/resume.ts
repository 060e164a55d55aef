import type { Checkpoint, KeptCheckpoint } from './checkpoint.ts';

/** Where a follower of the log continues. */
export interface ResumePoint<Of> {
  readonly of: Of;
  /** Undefined where it begins again. */
  readonly checkpoint: KeptCheckpoint | undefined;
  /** Why its checkpoint, or what belongs to it, cannot be used. */
  readonly damage: Error | undefined;
}

/** Reads the checkpoints of followers, and passes over those of another version and those that do not fit the log. */
export const resumePoints = async <Of extends { readonly name: string; readonly version: number }>(
  all: readonly Of[],
  options: {
    readonly read: (of: Of) => { readonly kept?: KeptCheckpoint | undefined; readonly damage?: Error | undefined };
    readonly whyUnfit: (checkpoint: Checkpoint) => Promise<string | undefined>;
    /** What another version means. */
    readonly changed: string;
    /** The reason to begin again after damage; undefined where it is reported otherwise. */
    readonly whyDamaged?: (damage: Error) => string;
    /** Called once for each reason. */
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
