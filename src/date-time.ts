import { z } from 'zod';

const capitals = z.regexes.datetime({ offset: true });

/** A date-time of RFC 3339, read with capital letters: its own may be small (5.6). */
export const dateTime = z
  .string()
  .meta({ format: 'date-time', pattern: capitals.source.replace('T(?:', '[Tt](?:').replace('(?:Z|', '(?:[Zz]|') })
  .transform((text) => text.toUpperCase())
  .pipe(z.iso.datetime({ offset: true, error: 'Must be a date-time as in RFC 3339.' }));

/** Its milliseconds, to be said with its zone: without one a time would be as of wherever it is read. Undefined for anything else. */
export const timeOf = (text: string): number | undefined => {
  const { data } = dateTime.safeParse(text);
  return data === undefined ? undefined : Date.parse(data);
};
