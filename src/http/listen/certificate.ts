import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { publish } from '../../telemetry.ts';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Both files at one time. */
export interface Certificate {
  readonly files: CertificateFiles;
  /** Identifies the content without keeping the key. */
  readonly digest: string;
  readonly validFrom: Date;
  readonly validTo: Date;
}

/** `message` is one sentence without content of the files. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
  readonly of: 'certificate' | 'key';
  /** Identifies fault and content: the content may be usable tomorrow. */
  readonly identity: string;
  constructor(of: 'certificate' | 'key', message: string, digest: string) {
    super(message);
    this.of = of;
    this.identity = `${digest} ${message}`;
  }
}

const digestOf = (...contents: readonly Uint8Array[]): string => {
  const hash = createHash('sha256');
  for (const content of contents) hash.update(`${content.length} `).update(content);
  return hash.digest('hex');
};

const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/** The server's first; undefined if one is unreadable, or the file is half written. */
const chainIn = (pem: Buffer): readonly X509Certificate[] | undefined => {
  const text = pem.toString('latin1');
  if (text.replace(block, '').includes('---')) return undefined;
  const certificates = [...text.matchAll(block)].filter(([, label]) => label!.endsWith('CERTIFICATE'));
  return attempt(() => certificates.map(([certificate]) => new X509Certificate(certificate)));
};

const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work();
  } catch {
    return undefined;
  }
};

const contentOf = (of: 'certificate' | 'key', file: string): Promise<Buffer> =>
  readFile(file).catch((error: NodeJS.ErrnoException) => {
    const code = error.code ?? 'unknown';
    throw new UnusableCertificate(of, `${file} cannot be read (${code}).`, '');
  });

/** Also checks that they match. @throws UnusableCertificate */
export const readCertificate = async (files: CertificateFiles): Promise<Certificate> => {
  const { certFile, keyFile } = files;
  const cert = await contentOf('certificate', certFile);
  const pem = await contentOf('key', keyFile);
  const digest = digestOf(cert, pem);
  const refuse = (of: 'certificate' | 'key', message: string): never => {
    throw new UnusableCertificate(of, message, digest);
  };
  const [leaf] = chainIn(cert) ?? refuse('certificate', `${certFile} does not end where a certificate in PEM ends.`);
  if (leaf === undefined) return refuse('certificate', `${certFile} holds no certificate in PEM.`);
  const key =
    attempt(() => createPrivateKey(pem)) ?? refuse('key', `${keyFile} is no private key in PEM without a password.`);
  if (!attempt(() => leaf.checkPrivateKey(key))) refuse('key', `${keyFile} is not the key of ${certFile}.`);
  return { files, digest, validFrom: new Date(leaf.validFrom), validTo: new Date(leaf.validTo) };
};

/** Undefined if valid today. */
const untimely = ({ validFrom, validTo }: Certificate): string | undefined => {
  const now = Date.now();
  if (validTo.getTime() <= now) return `expired at ${validTo.toISOString()}`;
  if (validFrom.getTime() > now) return `is not valid before ${validFrom.toISOString()}`;
  return undefined;
};

/**
 * Looks for new content, because the files may be symlinks that change. A fault is reported when found twice, because
 * renewals replace one file first. @param use for new connections; throws if it is unusable
 */
export const followCertificate = (first: Certificate, use: () => void, everyMs = 1000) => {
  const { files } = first;
  let { digest: seen, validTo } = first;
  let suspect: string | undefined;
  let isExpired = false;
  const take = async (): Promise<void> => {
    if (!isExpired && validTo.getTime() <= Date.now()) {
      isExpired = true;
      publish('certificate.expired', { validTo: validTo.toISOString() });
    }
    try {
      const next = await readCertificate(files);
      if (next.digest === seen) {
        suspect = undefined;
        return;
      }
      const refuse = (message: string): never => {
        throw new UnusableCertificate('certificate', message, next.digest);
      };
      const fault = untimely(next);
      if (fault !== undefined) refuse(`${files.certFile} ${fault}.`);
      try {
        use();
      } catch {
        refuse(`The server cannot use ${files.certFile}.`);
      }
      seen = next.digest;
      validTo = next.validTo;
      suspect = undefined;
      isExpired = false;
      publish('certificate.reloaded', { validTo: validTo.toISOString() });
    } catch (error) {
      if (!(error instanceof UnusableCertificate)) throw error;
      if (error.identity === seen) return;
      if (suspect === error.identity) {
        seen = error.identity;
        publish('certificate.refused', { fault: error.message });
      }
      suspect = error.identity;
    }
  };
  let running: Promise<void> | null = null;
  const look = (): Promise<void> => {
    running ??= take().finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return { look, end: () => clearInterval(timer), validTo: () => validTo };
};
