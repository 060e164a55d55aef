/** Header lines as an object. */
export const asHeaders = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .slice(2)
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]),
  );
