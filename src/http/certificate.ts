import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Where the certificate of a server is, with those that lead to its authority, and its private key; both in PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What the two files held when they were read. */
export interface Certificate {
  readonly files: CertificateFiles;
  /** Tells one content from another; the key itself is not kept. */
  readonly digest: string;
  readonly validTo: Date;
}

/** What a new content of the files has come to: it is served from now on, or why it is not. */
export type CertificateReload = { readonly validTo: Date } | { readonly fault: string };

/** Files that no server can use; the message is one sentence, and holds nothing of what is in them. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';
  readonly of: 'certificate' | 'key';
  /** Of the content that is not usable. */
  readonly digest: string;
  constructor(of: 'certificate' | 'key', message: string, digest: string) {
    super(message);
    this.of = of;
    this.digest = digest;
  }
}

const digestOf = (...contents: readonly Uint8Array[]): string => {
  const hash = createHash('sha256');
  for (const content of contents) hash.update(`${content.length} `).update(content);
  return hash.digest('hex');
};

/** The result, or undefined where it throws: what OpenSSL says of a file helps nobody, and may cite it. */
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
    throw new UnusableCertificate(of, `${file} cannot be read (${code}).`, `${of} ${code}`);
  });

/** Reads the two files, and whether they belong to each other. @throws UnusableCertificate */
export const readCertificate = async (files: CertificateFiles): Promise<Certificate> => {
  const { certFile, keyFile } = files;
  const cert = await contentOf('certificate', certFile);
  const pem = await contentOf('key', keyFile);
  const digest = digestOf(cert, pem);
  const refuse = (of: 'certificate' | 'key', message: string): never => {
    throw new UnusableCertificate(of, message, digest);
  };
  const leaf =
    attempt(() => new X509Certificate(cert)) ?? refuse('certificate', `${certFile} is no certificate in PEM.`);
  const key =
    attempt(() => createPrivateKey(pem)) ?? refuse('key', `${keyFile} is no private key in PEM without a password.`);
  if (!attempt(() => leaf.checkPrivateKey(key))) refuse('key', `${keyFile} is not the key of ${certFile}.`);
  return { files, digest, validTo: new Date(leaf.validTo) };
};

export interface CertificateWatch {
  /** Has new connections be served with what is in the files now. @throws Error where the server cannot use it */
  readonly use: () => void;
  /** Told of each new content, once. */
  readonly reloaded: (outcome: CertificateReload) => void;
  /** How often the files are read. Their content decides: they may be links that are turned to other files. */
  readonly everyMs?: number | undefined;
}

/**
 * Follows the two files while they change. What is faulty is told only when it is found twice: of two files that are
 * renewed one comes first.
 * @param first what is served now
 * @returns what ends it
 */
export const followCertificate = (
  { files, digest }: Certificate,
  { use, reloaded, everyMs = 1000 }: CertificateWatch,
): (() => void) => {
  let seen = digest;
  let suspect: string | undefined;
  const take = async (): Promise<void> => {
    try {
      const next = await readCertificate(files);
      if (next.digest === seen) return;
      try {
        use();
      } catch {
        throw new UnusableCertificate('certificate', `The server cannot use ${files.certFile}.`, next.digest);
      }
      seen = next.digest;
      reloaded({ validTo: next.validTo });
    } catch (error) {
      if (!(error instanceof UnusableCertificate)) throw error;
      if (error.digest === seen) return;
      if (suspect === error.digest) {
        seen = error.digest;
        reloaded({ fault: error.message });
      }
      suspect = error.digest;
    }
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void take().finally(() => {
      isLooking = false;
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
};
