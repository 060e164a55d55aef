import canonicalize from 'canonicalize';

/** The one text of a JSON value (RFC 8785): equal values give equal texts. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? 'null';
