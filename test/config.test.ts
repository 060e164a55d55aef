import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { BadConfig, describeConfig, listenUrl, readConfig } from '../src/config/config.ts';
import { runsOn } from '../src/process/node-version.ts';

describe('readConfig', () => {
  test('has a default for everything', () => {
    expect(readConfig({})).toEqual({
      HOST: '127.0.0.1',
      PORT: 8080,
      ACCESS_LOG: 0,
      METRICS_HOST: '127.0.0.1',
      ADMIN_CREDENTIAL_RPM: 300,
      ADMIN_CREDENTIAL_CONCURRENT: 10,
      ADMIN_ORGANIZATION_RPM: 600,
      ADMIN_ORGANIZATION_CONCURRENT: 20,
      DATA_DIR: resolve('./data'),
      GATEWAYS: 1,
      SECRETS_DIR: resolve('./data.secrets'),
      OWNED_BY: 'weir',
      LOG_LEVEL: 'info',
      PROJECTION_WAIT_MS: 2000,
      REPLAY_TEXT_MINUTES: 0,
      DRAIN_MS: 30_000,
    });
  });
  test('counts an empty variable as absent, and ignores what is not its own', () => {
    expect(readConfig({ PORT: '', HOST: '', PATH: '/bin' }).PORT).toBe(8080);
  });
  test('takes ports from 0 to 65535', () => {
    expect(readConfig({ PORT: '0' }).PORT).toBe(0);
    expect(readConfig({ PORT: '65535' }).PORT).toBe(65_535);
    for (const PORT of ['-1', '65536', '80a', '1e3', ' 80']) expect(() => readConfig({ PORT })).toThrow(/PORT/);
  });
  test('takes limits of the administration that the windows can hold, at least 1', () => {
    for (const [name, most] of [
      ['ADMIN_CREDENTIAL_RPM', 60_000],
      ['ADMIN_CREDENTIAL_CONCURRENT', 65_535],
      ['ADMIN_ORGANIZATION_RPM', 60_000],
      ['ADMIN_ORGANIZATION_CONCURRENT', 65_535],
    ] as const) {
      for (const value of [1, most]) expect(readConfig({ [name]: String(value) })[name]).toBe(value);
      for (const value of [0, most + 1]) expect(() => readConfig({ [name]: String(value) })).toThrow(name);
    }
  });
  test('takes a certificate and its key together only', () => {
    const both = { TLS_CERT_FILE: '/tls/tls.crt', TLS_KEY_FILE: '/tls/tls.key' };
    expect(readConfig(both)).toMatchObject(both);
    expect(() => readConfig({ ...both, TLS_KEY_FILE: '' })).toThrow(
      'TLS_KEY_FILE: must be given where TLS_CERT_FILE is',
    );
    expect(() => readConfig({ ...both, TLS_CERT_FILE: '' })).toThrow(
      'TLS_CERT_FILE: must be given where TLS_KEY_FILE is',
    );
    expect(listenUrl(readConfig(both), 8443)).toBe('https://127.0.0.1:8443');
    expect(listenUrl(readConfig({ HOST: '2001:db8::1' }), 80)).toBe('http://[2001:db8::1]:80');
    // What listens everywhere is shown by an address that can be pasted.
    expect(listenUrl(readConfig({ HOST: '::' }), 80)).toBe('http://[::1]:80');
    expect(listenUrl(readConfig({ HOST: '0.0.0.0' }), 80)).toBe('http://127.0.0.1:80');
  });
  test('takes addresses and networks for trusted proxies, and says which of them is none', () => {
    for (const list of ['127.0.0.1', ' 10.0.0.0/8 , ::1,2001:db8::/128', '0.0.0.0/0'])
      expect(readConfig({ TRUSTED_PROXIES: list }).TRUSTED_PROXIES).toBe(list);
    for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.0/8/1', '::/129', '1.2.3', '10.0.0.1/-1', '10.0.0.1/'])
      expect(() => readConfig({ TRUSTED_PROXIES: `127.0.0.1,${wrong}` })).toThrow(
        `TRUSTED_PROXIES: has ${JSON.stringify(wrong)}, which is neither an address nor a network`,
      );
  });
  test('takes origins as browsers send them, and says which of them is none', () => {
    expect(readConfig({ CORS_ORIGINS: 'https://console.example' }).CORS_ORIGINS).toEqual(['https://console.example']);
    expect(
      readConfig({ CORS_ORIGINS: ' https://a.example , http://localhost:3000,http://[::1]:8080' }).CORS_ORIGINS,
    ).toEqual(['https://a.example', 'http://localhost:3000', 'http://[::1]:8080']);
    expect(readConfig({}).CORS_ORIGINS).toBeUndefined();
    const form = 'which is not an origin as browsers send it: scheme://host[:port]';
    for (const wrong of [
      '*',
      'null',
      'console.example',
      'ftp://a.example',
      'https://',
      'https://*.a.example',
      '',
      'https://a:0x50',
    ])
      expect(() => readConfig({ CORS_ORIGINS: `https://b.example,${wrong}` })).toThrow(
        `CORS_ORIGINS: has ${JSON.stringify(wrong)}, ${form}`,
      );
    for (const [wrong, right] of [
      ['https://a.example/', 'https://a.example'],
      ['https://a.example/console?x=1', 'https://a.example'],
      ['https://A.example', 'https://a.example'],
      ['https://a.example:443', 'https://a.example'],
      ['http://köln.example', 'http://xn--kln-sna.example'],
    ] as const)
      expect(() => readConfig({ CORS_ORIGINS: wrong })).toThrow(
        `CORS_ORIGINS: has ${JSON.stringify(wrong)}, ${form}, so ${right}`,
      );
    expect(() => readConfig({ CORS_ORIGINS: 'https://jo:secret@a.example' })).not.toThrow('so https');
  });
  test('names every fault at once', () => {
    const wrong = { PORT: 'x', LOG_LEVEL: 'loud', EVENTSTORE_URL: 'http+discover://db', DRAIN_MS: '-5' };
    const message = (() => {
      try {
        readConfig(wrong);
      } catch (error) {
        expect(error).toBeInstanceOf(BadConfig);
        return (error as Error).message;
      }
      return '';
    })();
    for (const name of Object.keys(wrong)) expect(message).toContain(`  ${name}: `);
  });
  test('takes the secrets from the environment whole or not at all, and shows them to nobody', () => {
    const [PEPPER, PREVIOUS_PEPPER, MASTER_KEY] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [
      string,
      string,
      string,
    ];
    const given = readConfig({ PEPPER, PREVIOUS_PEPPER, MASTER_KEY });
    expect(given.PEPPER?.reveal()).toBe(PEPPER);
    for (const text of [JSON.stringify(given), inspect(given), `${given.PEPPER}`, describeConfig()]) {
      for (const value of [PEPPER, PREVIOUS_PEPPER, MASTER_KEY]) expect(text).not.toContain(value);
    }
    const faulty: [Record<string, string>, string][] = [
      [{ PEPPER }, 'MASTER_KEY: must be given where PEPPER is'],
      [{ MASTER_KEY }, 'PEPPER: must be given where MASTER_KEY is'],
      [{ PREVIOUS_PEPPER }, 'PREVIOUS_PEPPER: is for beside PEPPER'],
      [{ PEPPER, MASTER_KEY, PREVIOUS_PEPPER: PEPPER }, 'PREVIOUS_PEPPER: is the same as PEPPER'],
      [{ PEPPER: PEPPER.slice(1), MASTER_KEY }, 'PEPPER: must be 64 hexadecimal characters'],
      [{ PEPPER: PEPPER.toUpperCase(), MASTER_KEY }, 'PEPPER: must be 64 hexadecimal characters'],
    ];
    for (const [env, fault] of faulty) {
      expect(() => readConfig(env)).toThrow(`The configuration is not valid:\n  ${fault}`);
      expect(() => readConfig(env)).not.toThrow(/a{60}|A{60}/);
    }
  });
  test('counts what is wrong in a list', () => {
    const wrong = (list: string) => () => readConfig({ AUDIT_SINKS: list });
    expect(wrong('/a,b')).toThrow('AUDIT_SINKS: has 1 entry that is neither an absolute path');
    expect(wrong('c,b')).toThrow('AUDIT_SINKS: has 2 entries that are neither an absolute path');
  });
  test('says of every limit of the administration how low and how high it may be', () => {
    const bounds = [...describeConfig().matchAll(/ADMIN_(\S+) .*, (\d+) to (\d+) \(default/g)];
    expect(bounds.map(([, name]) => name)).toHaveLength(4);
    for (const [, name, least, most] of bounds) {
      for (const within of [least, most]) readConfig({ [`ADMIN_${name}`]: within });
      for (const beyond of [Number(least) - 1, Number(most) + 1])
        expect(() => readConfig({ [`ADMIN_${name}`]: String(beyond) })).toThrow(`ADMIN_${name}`);
    }
  });
  test('describes every variable', () => {
    for (const name of ['HOST', 'PORT', 'DATA_DIR', 'SECRETS_DIR', 'EVENTSTORE_URL', 'MODELS_FILE', 'LOG_LEVEL']) {
      expect(describeConfig()).toMatch(new RegExp(`^  ${name} .*\\w`, 'm'));
    }
  });
});

describe('runsOn', () => {
  test('accepts the Node versions that uWebSockets.js has binaries for', () => {
    for (const version of ['20.19.0', '20.20.2', '22.12.0', '24.0.0', '26.10.0']) expect(runsOn(version)).toBeNull();
  });
  test('refuses every other in one sentence', () => {
    for (const version of ['18.20.0', '20.18.3', '21.7.0', '22.11.0', '23.1.0', '25.0.0', '27.0.0']) {
      expect(runsOn(version)).toMatch(/^[^\n]+ this is Node [\d.]+\.$/);
    }
  });
});
