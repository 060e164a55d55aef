import { createServer } from 'node:net';

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
export const whyNotThere = (host: string, port: number): Promise<string> =>
  new Promise((resolve) => {
    const trial = createServer();
    trial.once('error', (error) => resolve(listenReason(error)));
    trial.listen({ host, port, exclusive: true }, () => trial.close(() => resolve('it could not be had just now')));
  });
