import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cutOff } from './parent.ts';
import { pinned } from './pin.ts';

/** A process of the harness that answers one question at a time, see `parent.ts`. */
export interface Child {
  readonly pid: number;
  /** @throws Error when it cannot answer, has ended or is late */
  ask<Answer>(question: unknown, withinMs?: number): Promise<Answer>;
  /** Has it answer what it was asked with what there is. */
  cut(): void;
  /** Ends it; resolves when it is gone. */
  end(): Promise<void>;
}

type Message = { readonly answered: unknown } | { readonly failed: string };

const startMs = 30_000;
const patienceMs = 2_000;

/** Starts a TypeScript file in a Node process of its own, on a core where one is given. */
export const startChild = async (name: string, entry: URL, core: number | null): Promise<Child> => {
  const [file = '', ...rest] = pinned(core, [
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    fileURLToPath(entry),
  ]);
  // A group of its own: Ctrl-C is for the harness, which ends it when the report is written.
  const child = spawn(file, rest, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], detached: true });
  const next = <Answer>(withinMs: number): Promise<Answer> =>
    answerOf(child, name, withinMs).then((message) => {
      if ('failed' in message) throw new Error(`${name}: ${message.failed}`);
      return message.answered as Answer;
    });
  const end = () => endProcess(child);
  try {
    await next<null>(startMs);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    pid: child.pid!,
    ask: (question, withinMs = startMs) => {
      child.send(question as object);
      return next(withinMs);
    },
    cut: () => void (child.connected && child.send(cutOff)),
    end,
  };
};

const answerOf = (child: ChildProcess, name: string, withinMs: number): Promise<Message> =>
  new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit).off('error', onError);
      act();
    };
    const onMessage = (message: unknown) => settle(() => resolve(message as Message));
    const onError = (error: Error) => settle(() => reject(new Error(`${name} could not be run: ${error.message}`)));
    const onExit = (code: number | null, signal: string | null) =>
      settle(() => reject(new Error(`${name} has ended (${signal ?? code}).`)));
    const timer = setTimeout(
      () => settle(() => reject(new Error(`${name} was silent for ${withinMs / 1000} s.`))),
      withinMs,
    );
    child.on('message', onMessage).on('exit', onExit).on('error', onError);
    if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode, child.signalCode);
  });

/** SIGTERM, and SIGKILL for who does not follow it. */
export const endProcess = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await gone;
  clearTimeout(late);
};
