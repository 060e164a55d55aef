/** Asks for the answer to the present question at once, with what there is. */
export const cutOff = 'cut';

/**
 * The child's side of `child.ts`: answers each question of the harness, says `{ failed }` where it cannot, and ends with
 * it, however the harness ends, so that nothing is left running.
 */
export const serveParent = (answer: (question: unknown, cut: AbortSignal) => Promise<unknown>): void => {
  let cut = new AbortController();
  process.on('disconnect', () => process.exit(1));
  process.on('message', (question) => {
    if (question === cutOff) {
      cut.abort();
      return;
    }
    cut = new AbortController();
    answer(question, cut.signal).then(
      (answered) => process.send?.({ answered }),
      (error: unknown) => process.send?.({ failed: error instanceof Error ? error.message : String(error) }),
    );
  });
  process.send?.({ answered: null });
};
