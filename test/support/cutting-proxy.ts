import { type AddressInfo, createServer, type Socket, connect as to } from 'node:net';

/** A proxy in front of a store that loses connections in the middle of whatever they carry. */
export interface CuttingProxy {
  readonly endpoint: string;
  /** Connections cut so far. */
  readonly cuts: number;
  /** Connections taken so far. */
  readonly connections: number;
  /** Cuts every connection once so many bytes have come from the store; 0 cuts no more. */
  cutAfter(bytes: () => number): void;
  /** From now on nothing goes through on the connections that are open, and nobody is told: they are half open. */
  deafen(): void;
  close(): Promise<void>;
}

/** `listen` is the path of a unix socket, or a port of 127.0.0.1 (0 for a free one); `target` an endpoint likewise. */
export const cuttingProxy = async (listen: string | number, target: string): Promise<CuttingProxy> => {
  let limit = (): number => 0;
  let cuts = 0;
  let connections = 0;
  const open = new Set<Socket>();
  const deaf = new WeakSet<Socket>();
  const reach = (): Socket => {
    if (target.startsWith('unix:')) return to(target.slice('unix:'.length));
    const [host, port] = target.split(':') as [string, string];
    return to(Number(port), host);
  };
  const server = createServer((near) => {
    const far = reach();
    const left = limit();
    connections++;
    let seen = 0;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', end).on('close', () => {
        open.delete(socket);
        end();
      });
    }
    near.on('data', (chunk: Buffer) => {
      if (!deaf.has(near)) far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => {
      if (deaf.has(near)) return;
      seen += chunk.length;
      if (left === 0 || seen <= left) return void near.write(chunk);
      cuts++;
      // What was within the limit arrives, so frames are cut in two.
      near.write(chunk.subarray(0, chunk.length - (seen - left)), end);
    });
  });
  await new Promise<void>((resolve) => {
    if (typeof listen === 'string') server.listen(listen, resolve);
    else server.listen(listen, '127.0.0.1', resolve);
  });
  return {
    endpoint: typeof listen === 'string' ? `unix:${listen}` : `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    get connections() {
      return connections;
    },
    cutAfter(bytes) {
      limit = bytes;
    },
    deafen() {
      for (const socket of open) deaf.add(socket);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
};
