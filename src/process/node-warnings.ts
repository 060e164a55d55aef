/**
 * Takes one warning of Node out of what it prints to standard error; all others are printed as ever, in the form that the
 * command line of Node asks for.
 * @param code as Node documents it, such as `DEP0123`
 */
export const withoutNodeWarning = (code: string): void => {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if ((warning as { code?: string }).code === code) return;
    for (const print of printers) print.call(process, warning);
  });
};
