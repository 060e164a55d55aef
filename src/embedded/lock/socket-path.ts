import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** sun_path has 108 bytes on Linux and 104 on macOS, the final zero included. */
export const MAX_PATH_BYTES = 100;
const SOCKET = 'eventstore.sock';

/**
 * Where the socket of a store goes: into its directory or, where that path is too long for a socket, into a new
 * private directory (mode 0700) for temporary files. `cleanUp` removes socket and directory.
 */
export function socketPath(dir: string): { readonly path: string; cleanUp(): void } {
  const inside = join(resolve(dir), SOCKET);
  if (Buffer.byteLength(inside) <= MAX_PATH_BYTES)
    return { path: inside, cleanUp: () => rmSync(inside, { force: true }) };
  const shelter = mkdtempSync(join(tmpdir(), 'weir-'));
  const path = join(shelter, SOCKET);
  const cleanUp = () => rmSync(shelter, { recursive: true, force: true });
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, cleanUp };
  cleanUp();
  throw new Error(`Neither ${dir} nor the directory for temporary files has a path short enough for a socket.`);
}
