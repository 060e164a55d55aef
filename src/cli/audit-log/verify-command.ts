import { Command, Option } from 'commander';
import { opensFiles } from '../../app/log/event-log.ts';
import { type Verdict, verdictOf } from '../../audit/log/verify/verdict.ts';
import { type Report, verifyLog } from '../../audit/log/verify/verify.ts';
import { systemClock } from '../../clock.ts';
import { BadConfig, readConfig } from '../../config/config.ts';
import { inWords } from '../../config/file-fault.ts';
import { CORRUPT_SIGNALS } from '../../embedded/index.ts';
import { StoreDamaged } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { withAdvice } from '../about-damage.ts';
import { endWithParent, runApart } from '../child-process.ts';
import { onLog } from '../operator.ts';
import { several } from '../option-values.ts';
import { documents, jsonOf, type Output, show, showOne } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { allEvents, outsideCheckpoints, passedOverKey, trustedKeys } from './audit-source.ts';

interface Options extends Output {
  readonly against: readonly string[];
  readonly pub: readonly string[];
  readonly here?: true;
}

/** Exit status if the store or a given file cannot be read. */
const unreadable = 3;

export const verifyCommand = (terminal: Terminal): Command =>
  documents(new Command('verify'))
    .description(
      'Prove that nobody has rewritten the log; exit status 0, 1 tampered, 2 not to be excluded, 3 unreadable',
    )
    .option(
      '--against <file>',
      'checkpoints from outside (default: the files of AUDIT_SINKS); may be repeated',
      several(String),
      [],
    )
    .option(
      '--pub <key>',
      'the log’s public key, or a file of keys as weir audit key prints them (default: of the secrets); may be repeated',
      several(String),
      [],
    )
    .addOption(new Option('--here', 'in this process').hideHelp())
    .action(async (options: Options) => {
      if (options.here) endWithParent();
      jsonOf(terminal, options);
      terminal.failsWith?.(unreadable);
      const config = readConfig(terminal.env);
      const verifying = async (): Promise<number> => {
        const isApart = !options.here && (await opensFiles(config));
        return isApart ? verifyApart(terminal) : verify(terminal, options);
      };
      const code = await verifying().catch((error: unknown) => {
        if (error instanceof UsageError || error instanceof BadConfig) throw error;
        return cannotRead(terminal, options, error);
      });
      // The message is already printed.
      if (code !== 0) throw new Failure('', code);
    });

/** @returns the exit status */
const verify = async (terminal: Terminal, options: Options): Promise<number> => {
  const note = (says: string) => terminal.err(`${printable(says)}\n`);
  const report = await onLog(terminal, async ({ store, failed }, config) => {
    const verifying = verifyLog(allEvents(terminal, store, 'Verifying'), {
      against: outsideCheckpoints(config, options.against, note),
      trusted: await trustedKeys(config, store, options.pub),
      now: systemClock.wall(),
    });
    return Promise.race([verifying, failed.then((reason) => Promise.reject(reason))]);
  });
  const verdict = verdictOf(report);
  for (const place of report.passedOver) terminal.err(passedOverKey(place));
  const { mistaken, outside } = report;
  if (mistaken !== null && outside !== null)
    note(
      `${mistaken.count} of the checkpoints to compare with are of another log, ${mistaken.other}: they do not count.`,
    );
  const json = jsonOf(terminal, options);
  json?.add(documentOf(report, verdict));
  json?.end();
  if (!json) showReport(terminal, report, verdict, options);
  if (verdict.code !== 0) terminal.err(`${verdict.says}\n`);
  return verdict.code;
};

/** The store maps its files into memory, so damage can kill the reading process. */
const verifyApart = async (terminal: Terminal): Promise<number> => {
  const end = await runApart(terminal, [...terminal.argv, '--here']);
  if ('code' in end) return end.code;
  if (!CORRUPT_SIGNALS.has(end.signal)) throw new Error(`The process that reads it was ended by ${end.signal}.`);
  throw new StoreDamaged(`Reading it kills the process (${end.signal}).`);
};

/** An error must not have the exit status of a verdict. */
const cannotRead = (terminal: Terminal, options: Output, error: unknown): number => {
  const says = `The log cannot be verified. ${error instanceof Error ? inWords(error) : String(error)}`;
  const json = jsonOf(terminal, options);
  json?.add({ verdict: 'unreadable', says });
  json?.end();
  terminal.err(`${printable(withAdvice(error, says))}\n`);
  return unreadable;
};

const documentOf = (report: Report, { code, says }: Verdict): object => ({
  verdict: ['whole', 'tampered', 'open'][code],
  says,
  events: report.events,
  checkpoints: report.checkpoints,
  covered: report.covered,
  uncovered: report.uncovered,
  removed: report.removed,
  findings: report.findings,
  outside: report.outside,
  imported: report.imported,
  is_import_proven: report.isImportProven,
  is_key_trusted: report.isKeyTrusted,
  unproven_from: report.unprovenFrom,
  passed_over: report.passedOver,
  mistaken: report.mistaken,
  newest: report.newest?.signed ?? null,
});

const showReport = (terminal: Terminal, report: Report, { code, says }: Verdict, options: Output): void => {
  const events = {
    leaves_covered_by_checkpoints: report.covered,
    not_covered_yet: report.uncovered,
    removed: report.removed,
    checkpoints: report.checkpoints,
    proven_from_outside: report.outside === null ? 'nothing' : `the first ${report.outside} leaves`,
    ...(report.unprovenFrom !== null && { unproven_from_entry: report.unprovenFrom }),
    ...(report.imported !== null && { imported: true }),
  };
  showOne(terminal, events, options);
  if (report.findings.length > 0) {
    terminal.out('\n');
    const rows = report.findings.map(({ index, to, class: found, stream, revision, says: sentence }) => ({
      leaf: to === undefined || to <= index + 1 ? String(index) : `${index} to ${to - 1}`,
      class: found,
      where: [stream, revision === undefined ? undefined : `revision ${revision}`].filter(Boolean).join(' '),
      what: sentence,
    }));
    show(terminal, rows, options);
  } else if (code === 0) terminal.out(`${says}\n`);
};
