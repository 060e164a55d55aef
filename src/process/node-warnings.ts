/** @param code as Node documents it, such as `DEP0123` */
export const withoutNodeWarning = (code: string): void => {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if ((warning as { code?: string }).code === code) return;
    for (const print of printers) print.call(process, warning);
  });
};
