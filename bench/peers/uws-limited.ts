/** The bare server with the window store in its handler and nothing else: what the limits cost where caches are cold. */
import { listenAlone, loadUws } from '../../src/http/uws.ts';
import { serveParent } from '../machine/parent.ts';
import { CountedCrowd } from '../micro/crowd.ts';

const keys = 100_000;

const crowd = new CountedCrowd(keys, 0, performance.now());
const uws = await loadUws();
const app = uws.App();
app.get('/*', (response) => {
  crowd.request(performance.now(), false);
  response.end('hello');
});
const socket = await listenAlone(uws, app, '127.0.0.1', 0);
if (!socket) throw new Error('The bare server found no free port.');
const port = uws.us_socket_local_port(socket);

serveParent(() => Promise.resolve({ port }));
