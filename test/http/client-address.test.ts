import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/http/request/client-address.ts';

const from = (trusted: string, peer: string, ...forwarded: string[]) =>
  clientAddress(trusted)(peer, [
    'host',
    'x',
    ...forwarded.flatMap((value) => ['x-forwarded-for', value]),
    'accept',
    '*/*',
  ]);
const proxies = '10.0.0.0/8, 192.0.2.1,2001:db8::/32';

describe('the address of a client', () => {
  test('is the peer where nobody is trusted', () => {
    expect(from('', '198.51.100.1', '203.0.113.1')).toBe('198.51.100.1');
    expect(from(' , ', '10.0.0.1', '203.0.113.1')).toBe('10.0.0.1');
  });

  test.each([
    ['a peer that is not trusted, whatever it says', '198.51.100.1', ['203.0.113.1'], '198.51.100.1'],
    ['whom a trusted peer names', '10.1.2.3', ['203.0.113.1'], '203.0.113.1'],
    ['the trusted peer itself where it names nobody', '10.1.2.3', [], '10.1.2.3'],
    ['the last that is not trusted', '192.0.2.1', ['1.1.1.1, 203.0.113.1, 10.9.9.9'], '203.0.113.1'],
    ['the first of a list of proxies alone', '192.0.2.1', ['10.0.0.1, 10.0.0.2'], '10.0.0.1'],
    ['over several lines in their order', '10.0.0.1', ['1.1.1.1', '203.0.113.1', '10.0.0.2'], '203.0.113.1'],
    ['the nearest that can be read', '10.0.0.1', ['203.0.113.1, unknown, 10.0.0.2'], '10.0.0.2'],
    ['the peer where the nearest cannot be read', '10.0.0.1', ['203.0.113.1, _hidden'], '10.0.0.1'],
    ['an address in brackets or with a port', '10.0.0.1', ['203.0.113.1:4711'], '203.0.113.1'],
    ['the same of version six', '10.0.0.1', ['[2001:dead::1]:443'], '2001:dead::1'],
    ['behind a proxy of version six', '2001:0db8:0000:0000:0000:0000:0000:0001', ['203.0.113.1'], '203.0.113.1'],
    ['behind a proxy of version four in the dress of six', '::ffff:10.0.0.1', ['203.0.113.1'], '203.0.113.1'],
    ['a neighbour of a trusted address', '192.0.2.2', ['203.0.113.1'], '192.0.2.2'],
  ])('is %s', (_, peer, forwarded, client) => expect(from(proxies, peer, ...forwarded)).toBe(client));
});
