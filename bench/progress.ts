import { SingleBar } from 'cli-progress';

export interface Progress {
  /** @param part of the present scenario that is done, 0 to 1 */
  tell(text: string, part: number): void;
  say(text: string): void;
  end(): void;
}

const steps = 1000;
const longestText = 60;

/** A line that changes on a terminal; elsewhere what is said stands a line each, and the steps are left out. */
export const progressOn = (stream: NodeJS.WriteStream): Progress => {
  if (!stream.isTTY) {
    return { tell: () => {}, say: (text) => void stream.write(`${text}\n`), end: () => {} };
  }
  let bar: SingleBar | null = null;
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    tell(text, part) {
      if (bar === null) {
        const format = '{bar} {percentage} %  {text}';
        bar = new SingleBar({
          stream,
          format,
          barsize: 24,
          barCompleteChar: '█',
          barIncompleteChar: '░',
          hideCursor: true,
          clearOnComplete: true,
        });
        bar.start(steps, 0, { text: '' });
      }
      bar.update(Math.floor(part * steps), { text: text.slice(0, longestText) });
    },
    say(text) {
      end();
      stream.write(`${text}\n`);
    },
    end,
  };
};
