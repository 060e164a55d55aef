import { z } from 'zod';
import { searchName, searchType } from '../../upstream/web-search.ts';
import { namedFields } from '../messages/named-fields.ts';
import type { Block } from './translated.ts';

/** What both APIs say of a search of the upstream. */
export const contextSize = z.enum(['low', 'medium', 'high']).nullish();
const name = z.string().nullish();
export const whereabouts = { city: name, country: name, region: name, timezone: name };
export const approximate = namedFields({ type: z.literal('approximate').nullish(), ...whereabouts });

interface Searching {
  readonly size?: string | null | undefined;
  readonly location?: Readonly<Record<string, unknown>> | null | undefined;
  readonly domains?: readonly string[] | null | undefined;
  /** Most searches. */
  readonly most?: number | null | undefined;
}

export const searchOf = ({ size, location, domains, most }: Searching): Block => ({
  type: searchType,
  name: searchName,
  ...(most != null && { max_uses: most }),
  ...(domains?.length && { allowed_domains: domains }),
  ...(location != null && { user_location: { ...givenOf(location), type: 'approximate' } }),
  ...(size != null && { search_context_size: size }),
});

const givenOf = (location: object): object =>
  Object.fromEntries(Object.entries(location).filter(([, value]) => value != null));
