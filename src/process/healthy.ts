/** Health check of a container: exits with 0 if the gateway at HOST, PORT and TLS_CERT_FILE is ready, else 1. */
import { request as requestOverHttp } from 'node:http';
import { request as requestOverTls } from 'node:https';

const { HOST = '127.0.0.1', PORT = '8080', TLS_CERT_FILE } = process.env;
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const options = {
  host: loopback[HOST] ?? HOST,
  port: Number(PORT),
  path: '/v1/ready',
  timeout: 3_000,
  rejectUnauthorized: false,
};

const asked = (TLS_CERT_FILE ? requestOverTls : requestOverHttp)(options, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
);
asked.on('timeout', () => asked.destroy(new Error('no answer')));
asked.on('error', ({ message }) => {
  process.stderr.write(`${options.host}:${options.port} does not answer: ${message}\n`);
  process.exitCode = 1;
});
asked.end();
