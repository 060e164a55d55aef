import type * as Native from 'uWebSockets.js';
import { thisHost, whyNoServer } from './native-needs.ts';

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';

/** Bytes of one request's header block; the core reads it from the environment when it is loaded. */
const maxHeaderBytes = '16384';

/**
 * Loads the prebuilt uWebSockets.js of this Node version: 20 and 22 have one package, 24 and 26 another.
 * @throws Error in one line, when it cannot be loaded (musl, an older glibc, installed by another Node): what to do
 */
export const loadUws = async (): Promise<typeof Native> => {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= maxHeaderBytes;
  const major = Number(process.versions.node.split('.')[0]);
  try {
    return major >= 24
      ? ((await import('uWebSockets.js-node24')) as unknown as typeof Native)
      : await import('uWebSockets.js');
  } catch (cause) {
    throw new Error(whyNoServer(thisHost()), { cause });
  }
};

/** What the binaries of both versions have and the types of 20.51 do not list. */
interface Unlisted {
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
type Listen = (host: string, port: number, option: number, done: (socket: object | false) => void) => void;

/**
 * Listens on a port that nobody else has. Without the exclusive option the core sets SO_REUSEPORT, and a second process
 * would silently share the port.
 * @returns the listen socket, or false when the port is taken or the host is no address of this machine
 */
export const listenAlone = (
  native: typeof Native,
  app: Native.TemplatedApp,
  host: string,
  port: number,
): Promise<object | false> => {
  const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = native as unknown as Unlisted;
  const listen = app.listen as unknown as Listen;
  return new Promise((resolve) => listen.call(app, host, port, exclusive, resolve));
};

/** What hands connections from the app that has accepted them to another; the same of both versions. */
interface Parent {
  getDescriptor(): number;
  addChildAppDescriptor(child: number): void;
  removeChildAppDescriptor(child: number): void;
}

/** From now on `listening` gives each connection that it accepts to `next`, and none to `last`. None is lost meanwhile. */
export const handOver = (
  listening: Native.TemplatedApp,
  last: Native.TemplatedApp,
  next: Native.TemplatedApp,
): void => {
  const parent = listening as unknown as Parent;
  parent.addChildAppDescriptor((next as unknown as Parent).getDescriptor());
  if (last !== listening) parent.removeChildAppDescriptor((last as unknown as Parent).getDescriptor());
};
