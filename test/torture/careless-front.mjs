/**
 * Preloaded into a gateway whose protection is to be off. CARELESS_FRONT=handler: a response has a handler of its end only
 * where it is not answered in the turn in which it was asked for. CARELESS_FRONT=close: nobody is told of an end, so what
 * has ended is answered.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const major = Number(process.versions.node.split('.')[0]);
const native = require(major >= 24 ? 'uWebSockets.js-node24' : 'uWebSockets.js');

const unhandled = (response) => {
  let listener;
  let isOver = false;
  for (const name of ['end', 'endWithoutBody', 'tryEnd', 'close']) {
    const original = response[name];
    response[name] = (...args) => {
      const result = original.apply(response, args);
      isOver ||= name !== 'tryEnd' || result[1];
      return result;
    };
  }
  response.onAborted = (given) => {
    listener = given;
    return response;
  };
  return () => {
    delete response.onAborted;
    if (!isOver && listener !== undefined) response.onAborted(listener);
  };
};

const untold = (response) => {
  const original = response.onAborted;
  original.call(response, () => {});
  response.onAborted = () => response;
  return () => {};
};

const careless = { handler: unhandled, close: untold }[process.env.CARELESS_FRONT];

for (const kind of ['App', 'SSLApp']) {
  const open = native[kind];
  native[kind] = (...options) => {
    const app = open(...options);
    for (const method of ['any', 'get', 'post', 'put', 'patch', 'del', 'head', 'options']) {
      const add = app[method];
      app[method] = (pattern, handle) =>
        add.call(app, pattern, (response, request) => {
          const over = careless(response);
          handle(response, request);
          over();
        });
    }
    return app;
  };
}
