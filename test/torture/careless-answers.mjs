/**
 * Preloaded into a gateway whose protection is to be off: every large answer is taken at once, and kept. The original is
 * wrapped before the module of the server is loaded.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const major = Number(process.versions.node.split('.')[0]);
const native = require(major >= 24 ? 'uWebSockets.js-node24' : 'uWebSockets.js');
const { App } = native;

const kept = [];

const careless = (handle) => (response, request) => {
  response.tryEnd = (data) => {
    kept.push(Buffer.from(data));
    response.end('');
    return [true, true];
  };
  handle(response, request);
};

native.App = (...options) => {
  const app = App(...options);
  for (const method of ['any', 'get']) {
    const add = app[method];
    app[method] = (pattern, handle) => add.call(app, pattern, careless(handle));
  }
  return app;
};
