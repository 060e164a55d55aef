import { describe, expect, test } from 'vitest';
import { readConnectionString } from '../../src/eventstoredb/connection-string.ts';

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
