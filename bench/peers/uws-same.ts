/** A bare uWebSockets.js that answers everything with the bytes of one answer of Weir's: what those alone cost. */
import { listenAlone, loadUws } from '../../src/http/uws.ts';
import { serveParent } from '../machine/parent.ts';

/** An answer as JSON carries it from one process to another. */
export interface FixedAnswer {
  /** Lines of headers as Weir writes them: from the value of `content-type` on, apart by CR LF. */
  readonly lines: string;
  readonly body: string;
}

const uws = await loadUws();
const app = uws.App();
let lines = '';
let body = Buffer.alloc(0);
app.get('/*', (response) => {
  response.writeHeader('content-type', lines);
  response.end(body);
});
const socket = await listenAlone(uws, app, '127.0.0.1', 0);
if (!socket) throw new Error('The bare server found no free port.');
const port = uws.us_socket_local_port(socket);

serveParent(async (question) => {
  const answer = question as FixedAnswer;
  lines = answer.lines;
  body = Buffer.from(answer.body);
  return { port };
});
