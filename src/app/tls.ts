import { BadConfig, type Config } from '../config/config.ts';
import { type Certificate, readCertificate, UnusableCertificate } from '../http/listen/certificate.ts';

/** Undefined if they are not configured. @throws BadConfig */
export const certificateOf = async (config: Config): Promise<Certificate | undefined> => {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = config;
  if (certFile === undefined || keyFile === undefined) return undefined;
  return readCertificate({ certFile, keyFile }).catch((error: Error) => {
    if (!(error instanceof UnusableCertificate)) throw error;
    throw new BadConfig([`${error.of === 'key' ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'}: ${error.message}`], error);
  });
};
