const utf8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;
const charset = /^\s*charset\s*=/i;

/**
 * `application/json` or `application/…+json`, with any parameters; a charset must be UTF-8, which is what the body is
 * read as (decisions A.3).
 */
export const isJsonMedia = (contentType: string | undefined): boolean => {
  if (contentType === 'application/json') return true;
  if (contentType === undefined) return false;
  const [media = '', ...parameters] = contentType.split(';');
  const type = media.trim().toLowerCase();
  const isJson = type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'));
  return isJson && parameters.every((parameter) => !charset.test(parameter) || utf8.test(parameter));
};
