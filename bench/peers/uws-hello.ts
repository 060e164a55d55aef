/** The unit of the whole bench: a bare uWebSockets.js, the binary that Weir loads, with a fixed reply. */
import { listenAlone, loadUws } from '../../src/http/uws.ts';
import { serveParent } from '../machine/parent.ts';

const uws = await loadUws();
const app = uws.App();
app.get('/*', (response) => {
  response.end('hello');
});
const socket = await listenAlone(uws, app, '127.0.0.1', 0);
if (!socket) throw new Error('The bare server found no free port.');
const port = uws.us_socket_local_port(socket);

serveParent(() => Promise.resolve({ port }));
