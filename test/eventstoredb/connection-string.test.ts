import { describe, expect, test } from 'vitest';
import { readConnectionString } from '../../src/eventstoredb/client/connection-string.ts';

const hosts = 'esdb://a:1,b:2';

describe('the node that a connection string prefers', () => {
  test.each(['nodePreference=follower', 'node_preference=Random', 'NODE-PREFERENCE=readonlyreplica'])(
    'has no effect where it is not the leader, which is told: %s',
    (option) => {
      const read = readConnectionString(`${hosts}?tls=false&${option}`);
      expect(read.ignored).toEqual([
        {
          option: option.split('=')[0],
          reason: 'commands and looks at the log go to the leader, and all else with them',
        },
      ]);
      expect(read.with({})).toBe(`${hosts}?tls=false`);
    },
  );

  test.each(['nodePreference=leader', 'nodepreference=Leader'])('is passed on where it is: %s', (option) => {
    const read = readConnectionString(`${hosts}?${option}`);
    expect(read.ignored).toEqual([]);
    expect(read.with({ gossipTimeout: '1' })).toBe(`${hosts}?${option}&gossipTimeout=1`);
  });
});

describe('the scheme with a name for all', () => {
  test.each([
    [
      'is the client’s affair where there is one host',
      'esdb+discover://u:p@a:1?tls=false',
      'esdb+discover://u:p@a:1?tls=false',
    ],
    [
      'is of no use beside a second one, which the client would pass over',
      'kurrentdb+discover://u:p@a:1,b:2',
      'esdb://u:p@a:1,b:2',
    ],
    ['is not looked for in a password', 'esdb://u:esdb+discover:@a:1,b:2', 'esdb://u:esdb+discover:@a:1,b:2'],
  ])('%s', (_, given, used) => {
    const read = readConnectionString(given);
    expect(read.isDiscovered).toBe(true);
    expect(read.with({})).toBe(used);
  });
});

describe('the newer name of the scheme', () => {
  test.each([
    ['kurrentdb', 'kurrentdb://u:p@a:1?tls=false', 'esdb://u:p@a:1?tls=false', false],
    ['kurrentdb+discover', 'kurrentdb+discover://u:p@a:1?tls=false', 'esdb+discover://u:p@a:1?tls=false', true],
  ])('%s means the same', (_, given, used, isDiscovered) => {
    const read = readConnectionString(given);
    expect(read.with({})).toBe(used);
    expect(read.isDiscovered).toBe(isDiscovered);
  });
});
