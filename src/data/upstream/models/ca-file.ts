import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { PinnedCa } from '../http1/trust.ts';

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws Error that names the file and its fault */
export const readCaFile = (file: string): PinnedCa => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  const all = text.match(certificate) ?? [];
  if (all.length === 0) throw new Error(`${file} holds no certificate in PEM form`);
  for (const [index, each] of all.entries()) {
    if (!isCertificate(each)) throw new Error(`certificate ${index + 1} of ${file} cannot be read`);
  }
  return { file, pem: all.join('\n') };
};

const isCertificate = (pem: string): boolean => {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
};

export const caFileFault = (file: unknown, baseUrl: unknown): string | null => {
  if (typeof file !== 'string') return null;
  if (typeof baseUrl === 'string' && /^http:/i.test(baseUrl.trim())) return 'only an https upstream has a certificate';
  try {
    readCaFile(file);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};
