import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { htmlReport } from './html.ts';
import type { Result } from './result.ts';

export interface ReportFiles {
  readonly json: string;
  readonly html: string;
}

/** Writes result.json and report.html into a new folder under `out`, and points `latest` at it. */
export const writeReport = (result: Result, out: string): ReportFiles => {
  const [, command = 'run'] = result.command.split(' ');
  const dir = join(out, `${result.at.replaceAll(':', '-').replace(/\.\d+Z$/, 'Z')}-${command}`);
  mkdirSync(dir, { recursive: true });
  const json = join(dir, 'result.json');
  const html = join(dir, 'report.html');
  writeFileSync(json, `${JSON.stringify(result, null, 1)}\n`);
  writeFileSync(html, htmlReport(result));
  pointLatest(join(out, 'latest'), basename(dir));
  return { json, html };
};

/** A convenience: where links cannot be made there is none. */
const pointLatest = (link: string, dir: string): void => {
  try {
    rmSync(link, { force: true });
    symlinkSync(dir, link);
  } catch {
    return;
  }
};
