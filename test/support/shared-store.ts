/**
 * A store that is not ours and that several runs share: a cluster for tests, say. One log has one pair of secrets, so all of
 * them have these, unless the environment names others.
 */
export const atSharedStore = (url: string) => ({
  EVENTSTORE_URL: url,
  PEPPER: process.env.PEPPER ?? '5a'.repeat(32),
  MASTER_KEY: process.env.MASTER_KEY ?? 'a5'.repeat(32),
});

/** `host:port` of a connection string that names one node without TLS, which anything can stand in front of. */
export const plainNode = (url: string): string | undefined => {
  const [, node, query = ''] = /^(?:esdb|kurrentdb):\/\/([^@,/?]+)\/?(?:\?(.*))?$/.exec(url) ?? [];
  return new URLSearchParams(query.toLowerCase()).get('tls') === 'false' ? node : undefined;
};
