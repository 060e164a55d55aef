/** The used parts of a connection string. Names of options ignore case, `_` and `-`, as the client does. */
export interface ConnectionString {
  readonly hosts: readonly Host[];
  /** The client asks a host which node to use. */
  readonly isDiscovered: boolean;
  /** The decoded value of an option, the last if there are several. */
  option(name: string): string | undefined;
  /** Options without effect. The client would log them with the whole string and its password. */
  readonly ignored: readonly Ignored[];
  /** Without the ignored options, and with the added ones unless they are given. */
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

/** Scheme, credentials (as the client splits them), hosts, options. */
const parts = /^(([^:]+):\/\/(?:[^:]+:[^@]+@)?([^/?]*)\/*)(?:\?(.*))?$/s;

const defaultPort = 2113;

const whyIgnored = (name: string, value: string): string | undefined => {
  if (!knownFlat.has(flat(name))) return 'there is no such option';
  // Until its first probe such a client may use a frozen node.
  if (flat(name) === flat('nodePreference') && value.trim().toLowerCase() !== 'leader')
    return 'commands and looks at the log go to the leader, and all else with them';
  if (flat(name) !== flat('tlsVerifyCert') || value.trim() !== 'false') return undefined;
  return 'certificates are always verified: name their authority with tlsCAFile';
};

/** Never fails; other texts give nothing. */
export const readConnectionString = (url: string): ConnectionString => {
  // The client knows the older name only.
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
  // With the second scheme the client asks only the first host; with the first one it discovers by any of several.
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
