import { z } from 'zod';

const capitals = z.regexes.datetime({ offset: true });

/** RFC 3339, section 5.6, allows small letters; they are read as capitals. */
export const dateTime = z
  .string()
  .meta({ format: 'date-time', pattern: capitals.source.replace('T(?:', '[Tt](?:').replace('(?:Z|', '(?:[Zz]|') })
  .transform((text) => text.toUpperCase())
  .pipe(z.iso.datetime({ offset: true, error: 'Must be a date-time as in RFC 3339.' }));

/** Milliseconds; undefined unless the text is a date-time with its zone. */
export const timeOf = (text: string): number | undefined => {
  const { data } = dateTime.safeParse(text);
  return data === undefined ? undefined : Date.parse(data);
};
