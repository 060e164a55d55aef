import { handOver, type TemplatedApp } from '../uws.ts';
import { type Certificate, followCertificate } from './certificate.ts';

/** The apps of a port. An app's connections keep its certificate: a renewed one makes a new app for new connections. */
export const renewing = (
  first: TemplatedApp,
  open: () => TemplatedApp,
  certificate: Certificate | undefined,
  everyMs: number | undefined,
) => {
  const apps = [first];
  const renew = (): void => {
    const next = open();
    handOver(first, apps.at(-1)!, next);
    apps.push(next);
  };
  const following = certificate && followCertificate(certificate, renew, everyMs);
  return {
    /** For new connections. */
    validTo: () => following?.validTo(),
    look: async () => following?.look(),
    close() {
      following?.end();
      for (const app of apps) app.close();
    },
  };
};
