/**
 * Preloaded into a gateway whose protection is to be off: it never closes a connection to the provider at KEPT_PORT that
 * has been asked for something, whoever has left.
 */
import { Socket } from 'node:net';

const port = Number(process.env.KEPT_PORT);
const destroy = Socket.prototype.destroy;
Socket.prototype.destroy = function (error) {
  return this.remotePort === port && error === undefined ? this : destroy.call(this, error);
};
