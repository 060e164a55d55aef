import canonicalize from 'canonicalize';

/** RFC 8785: equal values give equal texts. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? 'null';
