import { createServer } from 'node:net';
import { listenAlone, loadUws, type TemplatedApp, type Uws } from '../uws.ts';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has that port',
  EACCES: 'this user may not have that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine has no addresses of that kind',
  ENOTFOUND: 'that name has no address',
  EAI_AGAIN: 'that name cannot be looked up',
};

export const listenReason = ({ code, message }: NodeJS.ErrnoException): string => reasons[code ?? ''] ?? message;

/** Binds once more with Node, because uWebSockets gives no reason. */
const whyNotThere = (host: string, port: number): Promise<string> =>
  new Promise((resolve) => {
    const trial = createServer();
    trial.once('error', (error) => resolve(listenReason(error)));
    trial.listen({ host, port, exclusive: true }, () => trial.close(() => resolve('it could not be had just now')));
  });

/** Resolves to the port. @throws Error of one sentence if the address cannot be bound; then the app is closed */
export const bind = async (uws: Uws, app: TemplatedApp, host: string, port: number): Promise<number> => {
  const socket = await listenAlone(uws, app, host, port);
  if (socket) return uws.us_socket_local_port(socket);
  app.close();
  throw new Error(`Cannot listen on HOST ${host} PORT ${port}: ${await whyNotThere(host, port)}.`);
};

/** Fails early if the port is taken. @throws Error as `bind` */
export const expectPort = async (host: string, port: number): Promise<void> => {
  const uws = await loadUws();
  const app = uws.App();
  await bind(uws, app, host, port);
  app.close();
};
