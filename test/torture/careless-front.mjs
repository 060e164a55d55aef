/**
 * Preloaded into a gateway whose protection is to be off. CARELESS_FRONT=handler: after the first, responses have no handler
 * of their end. CARELESS_FRONT=turn: requests are answered in uWebSockets' callbacks. CARELESS_FRONT=close: nobody is told of
 * an end, so what has ended is answered.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const major = Number(process.versions.node.split('.')[0]);
const native = require(major >= 24 ? 'uWebSockets.js-node24' : 'uWebSockets.js');

const off = process.env.CARELESS_FRONT;
const later = globalThis.setImmediate;
let isInside = false;
if (off === 'turn')
  globalThis.setImmediate = (work, ...given) => (isInside ? void work(...given) : later(work, ...given));

const inside = (callback) =>
  function called(...given) {
    isInside = true;
    try {
      return callback(...given);
    } finally {
      isInside = false;
    }
  };

/** Those of a gateway's start and first clients. */
const first = 200;
let asked = 0;

const careless = {
  handler: (response) => {
    if (++asked > first) response.onAborted = () => response;
  },
  turn: (response) => {
    const { onData } = response;
    response.onData = (callback) => onData.call(response, inside(callback));
  },
  close: (response) => {
    response.onAborted(() => {});
    response.onAborted = () => response;
  },
}[off];

for (const kind of ['App', 'SSLApp']) {
  const open = native[kind];
  native[kind] = (...options) => {
    const app = open(...options);
    for (const method of ['any', 'get', 'post', 'put', 'patch', 'del', 'head', 'options']) {
      const add = app[method];
      app[method] = (pattern, handle) =>
        add.call(
          app,
          pattern,
          inside((response, request) => {
            careless(response);
            handle(response, request);
          }),
        );
    }
    return app;
  };
}
