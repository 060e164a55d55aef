const utf8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;
const charset = /^\s*charset\s*=/i;

/** A charset must be UTF-8, which is what bodies are read as; other parameters may be anything. */
const isUtf8Alone = (parameters: readonly string[]): boolean =>
  parameters.every((parameter) => !charset.test(parameter) || utf8.test(parameter));

/** `application/json` or `application/…+json` (contract A.3). */
export const isJsonMedia = (contentType: string | undefined): boolean => {
  if (contentType === 'application/json') return true;
  if (contentType === undefined) return false;
  const [media = '', ...parameters] = contentType.split(';');
  const type = media.trim().toLowerCase();
  const isJson = type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'));
  return isJson && isUtf8Alone(parameters);
};

/** The media type of forms (RFC 6749, 3.2). */
export const formMedia = 'application/x-www-form-urlencoded';

export const isFormMedia = (contentType: string | undefined): boolean => {
  const [media = '', ...parameters] = (contentType ?? '').split(';');
  return media.trim().toLowerCase() === formMedia && isUtf8Alone(parameters);
};
