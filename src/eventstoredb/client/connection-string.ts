/**
 * What is read here of a connection string; all else is the client's affair, complaints about its grammar included. The
 * names of options count without case, `_` and `-`, as the client takes them.
 */
export interface ConnectionString {
  readonly hosts: readonly Host[];
  /** The client asks a host which node to go to: more than one are named, or the scheme says so. */
  readonly isDiscovered: boolean;
  /** The value of an option, decoded; the last where it is there twice. */
  option(name: string): string | undefined;
  /** What has no effect. Of what it ignores the client says so itself, with the whole string and its password. */
  readonly ignored: readonly Ignored[];
  /** Without what is ignored; with what is added, where the string does not say it. */
  with(added: Readonly<Record<string, string>>): string;
}

export interface Host {
  readonly address: string;
  readonly port: number;
}

export interface Ignored {
  readonly option: string;
  readonly reason: string;
}

const known = [
  'userCertFile',
  'userKeyFile',
  'maxDiscoverAttempts',
  'connectionName',
  'defaultDeadline',
  'discoveryInterval',
  'gossipTimeout',
  'nodePreference',
  'tls',
  'tlsVerifyCert',
  'tlsCAFile',
  'throwOnAppendFailure',
  'keepAliveInterval',
  'keepAliveTimeout',
  'dnsDiscover',
];

const flat = (name: string): string => name.trim().toLowerCase().replace(/[_-]/g, '');
const knownFlat = new Set(known.map(flat));

/** Scheme, credentials as the client finds them, hosts, options. */
const parts = /^(([^:]+):\/\/(?:[^:]+:[^@]+@)?([^/?]*)\/*)(?:\?(.*))?$/s;

const defaultPort = 2113;

const whyIgnored = (name: string, value: string): string | undefined => {
  if (!knownFlat.has(flat(name))) return 'there is no such option';
  // A client that goes elsewhere first is sent on by its first look: until then it may stand before a frozen node.
  if (flat(name) === flat('nodePreference') && value.trim().toLowerCase() !== 'leader')
    return 'commands and looks at the log go to the leader, and all else with them';
  if (flat(name) !== flat('tlsVerifyCert') || value.trim() !== 'false') return undefined;
  return 'certificates are always verified: name their authority with tlsCAFile';
};

/** Never fails: of what is no connection string it finds nothing. */
export const readConnectionString = (url: string): ConnectionString => {
  // The newer name of the same; the client knows the older one alone.
  const text = url.trim().replace(/^kurrentdb/, 'esdb');
  const [, head = text, scheme = '', hostList = '', query = ''] = parts.exec(text) ?? [];
  const kept: string[] = [];
  const ignored: Ignored[] = [];
  const options = new Map<string, string>();
  for (const pair of query === '' ? [] : query.split(/[?&]/)) {
    const [name = '', value] = pair.split(/=(.*)/s, 2);
    const reason = value === undefined ? undefined : whyIgnored(name, value);
    if (reason !== undefined) ignored.push({ option: name, reason });
    else {
      kept.push(pair);
      options.set(flat(name), value ?? '');
    }
  }
  const hosts = hostList.split(',').map((host) => {
    const [address = '', port] = host.split(':');
    return { address, port: port === undefined ? defaultPort : Number.parseInt(port, 10) };
  });
  // With the second scheme the client asks the first host alone; with the first one it discovers all the same, by any of them.
  const begin = hosts.length > 1 ? head.replace(/^esdb\+discover:/, 'esdb:') : head;
  return {
    hosts,
    isDiscovered: hosts.length > 1 || scheme.endsWith('+discover'),
    ignored,
    option: (name) => decoded(options.get(flat(name))?.trim()),
    with(added) {
      const all = [...kept];
      for (const [name, value] of Object.entries(added)) if (!options.has(flat(name))) all.push(`${name}=${value}`);
      return all.length === 0 ? begin : `${begin}?${all.join('&')}`;
    },
  };
};

const decoded = (value: string | undefined): string | undefined => {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return value;
  }
};
