import { createPrivateKey, createPublicKey, hash, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { isSignedWith, type Verifier } from '../../../src/merkle/note.ts';
import { isConsistent } from '../../../src/merkle/tree.ts';

const key = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 9)]),
  format: 'der',
  type: 'pkcs8',
});
const encoded = Buffer.concat([
  Buffer.of(4),
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32),
]);
const keyHash = (name: string): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), encoded]), 'buffer').subarray(0, 4);

/** A witness of c2sp.org/tlog-witness for one log, as it is described there. */
export const startWitness = async (name: string, log: Verifier) => {
  let last: { readonly size: number; readonly root: Buffer } = { size: 0, root: Buffer.alloc(0) };
  const judge = (text: string): readonly [status: number, body: string] => {
    const [, old = '', lines = '', note = ''] = /^old (\d+)\n((?:[A-Za-z0-9+/]{43}=\n)*)\n([\s\S]*)$/.exec(text) ?? [];
    const checkpoint = parsedCheckpoint(note);
    if (old === '' || !checkpoint) return [400, ''];
    if (checkpoint.origin !== log.name) return [404, ''];
    if (!isSignedWith(checkpoint.note, log)) return [403, ''];
    if (Number(old) > checkpoint.size) return [400, ''];
    if (Number(old) !== last.size) return [409, `${last.size}\n`];
    const proof = lines
      .split('\n')
      .slice(0, -1)
      .map((line) => Buffer.from(line, 'base64'));
    if (last.size > 0 && !isConsistent(last, checkpoint, proof)) return [422, ''];
    last = { size: checkpoint.size, root: checkpoint.root };
    const at = Buffer.alloc(8);
    at.writeBigUInt64BE(1_700_000_000n);
    const said = sign(null, Buffer.from(`cosignature/v1\ntime 1700000000\n${checkpoint.note.text}`), key);
    return [200, `\u2014 ${name} ${Buffer.concat([keyHash(name), at, said]).toString('base64')}\n`];
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isRight = request.method === 'POST' && request.url === '/add-checkpoint';
    const [status, body] = isRight ? judge(Buffer.concat(chunks).toString()) : [404, ''];
    response.writeHead(status, { 'content-type': status === 409 ? 'text/x.tlog.size' : 'text/plain' }).end(body);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: `${name}+${startWitness.keyOf(name)}`,
    get size() {
      return last.size;
    },
    close: () => server.close(),
  };
};

startWitness.keyOf = (name: string): string => `${keyHash(name).toString('hex')}+${encoded.toString('base64')}`;
