import { createServer, type Socket, connect as to } from 'node:net';

/** A proxy between unix sockets that loses connections in the middle of whatever they carry. */
export interface CuttingProxy {
  readonly endpoint: string;
  /** Connections cut so far. */
  readonly cuts: number;
  /** Cuts every connection once so many bytes have come from the store; 0 cuts no more. */
  cutAfter(bytes: () => number): void;
  close(): Promise<void>;
}

export const cuttingProxy = async (socketPath: string, target: string): Promise<CuttingProxy> => {
  let limit = (): number => 0;
  let cuts = 0;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = to(target.replace(/^unix:/, ''));
    const left = limit();
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
    near.pipe(far);
    far.on('data', (chunk: Buffer) => {
      seen += chunk.length;
      if (left === 0 || seen <= left) return void near.write(chunk);
      cuts++;
      // What was within the limit arrives, so frames are cut in two.
      near.write(chunk.subarray(0, chunk.length - (seen - left)), end);
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    endpoint: `unix:${socketPath}`,
    get cuts() {
      return cuts;
    },
    cutAfter(bytes) {
      limit = bytes;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
};
