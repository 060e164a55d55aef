export type Mailbox = <T>(task: () => Promise<T>) => Promise<T>;

/** Runs tasks one after another in the order they came; a failed task does not stop the next. */
export const serial = (): Mailbox => {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const turn = last.then(task);
    last = turn.catch(() => {});
    return turn;
  };
};
