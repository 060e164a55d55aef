import { SingleBar } from 'cli-progress';
import type { Terminal } from './terminal.ts';

export interface Progress {
  /** 0 to 1. */
  at(share: number): void;
  done(): void;
}

const STEPS = 1000;
const silent: Progress = { at: () => {}, done: () => {} };

/** A progress bar on a terminal, nothing elsewhere. */
export const progressBar = ({ screen }: Pick<Terminal, 'screen'>, what: string): Progress => {
  if (screen === undefined) return silent;
  const bar = new SingleBar({
    stream: screen as NodeJS.WriteStream,
    format: `${what} {bar} {percentage} %  {eta_formatted} left`,
    barsize: 30,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    emptyOnZero: true,
  });
  bar.start(STEPS, 0);
  return {
    at: (share) => bar.update(Math.floor(share * STEPS)),
    done: () => bar.stop(),
  };
};
