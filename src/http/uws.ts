import type * as Native from 'uWebSockets.js';
import { thisHost, whyNoServer } from './native-needs.ts';

export type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
export type Uws = typeof Native;

/** uWebSockets reads it from the environment when loaded. */
const maxHeaderBytes = '16384';

/** @throws Error of one line on what to do (musl, older glibc, installed by another Node) */
export const loadUws = async (): Promise<Uws> => {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= maxHeaderBytes;
  const major = Number(process.versions.node.split('.')[0]);
  try {
    return major >= 24 ? ((await import('uWebSockets.js-node24')) as unknown as Uws) : await import('uWebSockets.js');
  } catch (cause) {
    throw new Error(whyNoServer(thisHost()), { cause });
  }
};

/** In both versions' binaries, but not in the types of 20.51. */
interface Unlisted {
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
type Listen = (host: string, port: number, option: number, done: (socket: object | false) => void) => void;

/** By default uWebSockets sets SO_REUSEPORT: a second process would silently share the port. */
export const listenAlone = (
  native: Uws,
  app: Native.TemplatedApp,
  host: string,
  port: number,
): Promise<object | false> => {
  const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = native as unknown as Unlisted;
  const listen = app.listen as unknown as Listen;
  return new Promise((resolve) => listen.call(app, host, port, exclusive, resolve));
};

/** The app that accepts connections; the same in both versions. */
interface Parent {
  getDescriptor(): number;
  addChildAppDescriptor(child: number): void;
  removeChildAppDescriptor(child: number): void;
}

/** Gives each new connection to `next` instead of `last`, without losing any. */
export const handOver = (
  listening: Native.TemplatedApp,
  last: Native.TemplatedApp,
  next: Native.TemplatedApp,
): void => {
  const parent = listening as unknown as Parent;
  parent.addChildAppDescriptor((next as unknown as Parent).getDescriptor());
  if (last !== listening) parent.removeChildAppDescriptor((last as unknown as Parent).getDescriptor());
};
