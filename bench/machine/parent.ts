/**
 * The child's side of `child.ts`: answers each question of the harness, says `{ failed }` where it cannot, and ends with
 * it, however the harness ends, so that nothing is left running.
 */
export const serveParent = (answer: (question: unknown) => Promise<unknown>): void => {
  process.on('disconnect', () => process.exit(1));
  process.on('message', (question) => {
    answer(question).then(
      (answered) => process.send?.({ answered }),
      (error: unknown) => process.send?.({ failed: error instanceof Error ? error.message : String(error) }),
    );
  });
  process.send?.({ answered: null });
};
