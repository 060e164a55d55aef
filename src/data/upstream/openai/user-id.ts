import { hash } from 'node:crypto';

/** OpenAI's limit. */
const longest = 64;

/** The id of a user as servers of OpenAI's APIs take it: a longer one becomes a digest, always the same. */
export const openaiUserId = (id: string | undefined): string | undefined =>
  id === undefined || id.length <= longest ? id : `user_sha_${hash('sha256', id, 'base64url')}`;
