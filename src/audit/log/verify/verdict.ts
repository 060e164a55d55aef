import { keyStream } from '../leaf.ts';
import type { Report } from './verify.ts';

export interface Verdict {
  /** 0: intact. 1: tampered with. 2: nothing is wrong, but a rollback cannot be excluded. */
  readonly code: 0 | 1 | 2;
  readonly says: string;
}

export const verdictOf = (report: Report): Verdict => {
  const { code, says } = judged(report);
  const count = report.passedOver.length;
  // By the keys of another log no key of this one would be believed.
  if (count === 0 || report.findings.some((finding) => finding.class === 'key')) return { code, says };
  const keys = count === 1 ? 'a key' : `${count} keys`;
  return { code, says: `${says} Somebody has written ${keys} into ${keyStream} that nobody vouches for.` };
};

const judged = (report: Report): Verdict => {
  const { covered, uncovered, outside, imported, unprovenFrom, mistaken } = report;
  const [first, ...more] = report.findings;
  // Wrong keys or secrets are no sign of a rewritten log.
  if (first?.class === 'key' && more.length === 0) return { code: 1, says: first.says };
  if (first) return { code: 1, says: 'This log is not what was signed.' };
  if (report.newest === null && outside === null)
    return { code: 2, says: 'No checkpoint covers anything of this log.' };
  if (mistaken !== null && outside === null)
    return {
      code: 2,
      says: `The checkpoints to compare with are of another log, ${mistaken.other}: they say nothing of this one, ${mistaken.origin}.`,
    };
  if (!report.isKeyTrusted) {
    return {
      code: 2,
      says: 'The log’s key is known from the log alone: name it with --pub, and whoever made another log could not have signed it.',
    };
  }
  if (unprovenFrom !== null) {
    const says = `Unproven from entry ${unprovenFrom} on: nobody vouches for the key that has signed what is there. Whoever knows from elsewhere that it is the log’s names it with --pub.`;
    return { code: 2, says };
  }
  if (!report.isImportProven) {
    const says = `This log was imported. It is whole only where a checkpoint of the log that it came from says so (--against): the one of all ${imported} leaves that came.`;
    return { code: 2, says };
  }
  if (outside === null) {
    const says = `Nothing is wrong with the ${covered} leaves that were signed. Without a checkpoint from outside (--against) nobody can say whether there were more.`;
    return { code: 2, says };
  }
  const events = uncovered === 1 ? '1 event' : `${uncovered} events`;
  const tail = uncovered > 0 ? ` The last checkpoint does not cover ${events} yet.` : '';
  return {
    code: 0,
    says: `Whole: ${covered} leaves, of which the first ${outside} are proven never to have been others.${tail}`,
  };
};
