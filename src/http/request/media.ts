/** RFC 9110, 5.6.3: spaces may surround a semicolon. */
const text = /^[\t\x20-\x7e]*$/;
const utf8 = /^\s*charset\s*=\s*"?utf-?8"?\s*$/i;
const charset = /^\s*charset\s*=/i;

/** Lower case; undefined for other bytes, or a charset that is not UTF-8. */
const mediaType = (contentType = ''): string | undefined => {
  if (!text.test(contentType)) return undefined;
  const [media = '', ...parameters] = contentType.split(';');
  const isUtf8 = parameters.every((parameter) => !charset.test(parameter) || utf8.test(parameter));
  return isUtf8 ? media.trim().toLowerCase() : undefined;
};

/** `application/json` or `application/…+json` (contract A.3). */
export const isJsonMedia = (contentType: string | undefined): boolean => {
  if (contentType === 'application/json') return true;
  const type = mediaType(contentType);
  return type === 'application/json' || (type?.startsWith('application/') === true && type.endsWith('+json'));
};

export const formMedia = 'application/x-www-form-urlencoded';

export const isFormMedia = (contentType: string | undefined): boolean => mediaType(contentType) === formMedia;
