/** Answers after five milliseconds: below the limit of every generator, so that all must count the same. */
import { listenAlone, loadUws } from '../../src/http/uws.ts';
import { serveParent } from '../machine/parent.ts';

const delayMs = 5;

const uws = await loadUws();
const app = uws.App();
app.get('/*', (response) => {
  let gone = false;
  response.onAborted(() => {
    gone = true;
  });
  setTimeout(() => {
    if (!gone) response.cork(() => void response.end('hello'));
  }, delayMs);
});
const socket = await listenAlone(uws, app, '127.0.0.1', 0);
if (!socket) throw new Error('The late server found no free port.');
const port = uws.us_socket_local_port(socket);

serveParent(() => Promise.resolve({ port }));
