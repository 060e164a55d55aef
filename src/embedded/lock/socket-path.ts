import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** sun_path has 108 bytes on Linux and 104 on macOS, including the final zero. */
export const MAX_PATH_BYTES = 100;
const SOCKET = 'eventstore.sock';

/** The socket's path in the directory or, if that is too long, in a new private directory. `cleanUp` removes both. */
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
