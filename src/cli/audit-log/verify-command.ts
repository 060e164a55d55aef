import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { opensFiles } from '../../app/event-log.ts';
import { Failure } from '../../app/failure.ts';
import { type Verdict, verdictOf } from '../../audit/log/verify/verdict.ts';
import { type Report, verifyLog } from '../../audit/log/verify/verify.ts';
import { systemClock } from '../../clock.ts';
import { BadConfig, readConfig } from '../../config.ts';
import { endWithParent, runApart } from '../apart.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { allEvents, onLog, outsideCheckpoints, trustedKeys } from './audit-source.ts';

interface Options {
  readonly against: readonly string[];
  readonly pub: readonly string[];
  readonly json?: true;
  readonly here?: true;
}

/** The store cannot be read, or what to compare it with: nothing is said of the log. */
const unreadable = 3;

const gathered = (one: string, before: readonly string[]): string[] => [...before, one];

/** `weir audit verify`. */
export const verifyCommand = (terminal: Terminal): Command =>
  new Command('verify')
    .description(
      'Prove that nobody has rewritten the log; exit status 0, 1 tampered, 2 not to be excluded, 3 unreadable',
    )
    .option(
      '--against <file>',
      'checkpoints from outside (default: the files of AUDIT_SINKS); may be repeated',
      gathered,
      [],
    )
    .option('--pub <key>', 'the log’s public key (default: of the secrets); may be repeated', gathered, [])
    .option('--json', 'the findings as one JSON object')
    .addOption(new Option('--here', 'in this process').hideHelp())
    .action(async (options: Options) => {
      if (options.here) endWithParent();
      const { json, here } = options;
      const code =
        !here && (await opensFiles(readConfig(terminal.env)))
          ? await verifyApart(terminal, json)
          : await verify(terminal, options);
      // All has been said.
      if (code !== 0) throw new Failure('', code);
    });

/** @returns the exit status */
const verify = async (terminal: Terminal, options: Options): Promise<number> => {
  let report: Report;
  try {
    report = await onLog(terminal, async ({ store, failed }, config) => {
      const verifying = verifyLog(allEvents(terminal, store, 'Verifying'), {
        against: outsideCheckpoints(config, options.against),
        trusted: await trustedKeys(config, store, options.pub),
        now: systemClock.wall(),
      });
      return Promise.race([verifying, failed.then((reason) => Promise.reject(reason))]);
    });
  } catch (error) {
    if (error instanceof UsageError || error instanceof BadConfig) throw error;
    return cannotRead(terminal, options.json, error instanceof Error ? error.message : String(error));
  }
  const verdict = verdictOf(report);
  terminal.out(options.json ? asJson(report, verdict) : asText(report, verdict));
  if (verdict.code !== 0) terminal.err(`${verdict.says}\n`);
  return verdict.code;
};

/** The files of a store are mapped into the process that reads them: where they are damaged, reading may kill it. */
const verifyApart = async (terminal: Terminal, json: true | undefined): Promise<number> => {
  const end = await runApart(terminal, [...terminal.argv, '--here']);
  return 'code' in end ? end.code : cannotRead(terminal, json, `Reading it kills the process (${end.signal}).`);
};

/** Whatever else goes wrong must not look like a verdict. */
const cannotRead = (terminal: Terminal, json: true | undefined, why: string): number => {
  const says = `The log cannot be verified. ${why}`;
  if (json) terminal.out(`${JSON.stringify({ verdict: 'unreadable', says })}\n`);
  terminal.err(`${says} weir store verify names what is damaged.\n`);
  return unreadable;
};

const asJson = ({ newest, ...report }: Report, { code, says }: Verdict): string =>
  `${JSON.stringify({ verdict: ['whole', 'tampered', 'open'][code], says, ...report, newest: newest?.signed ?? null })}\n`;

const asText = (report: Report, { code, says }: Verdict): string => {
  const facts = new Table({ style: { head: [], border: [] } });
  facts.push({ 'leaves covered by checkpoints': report.covered }, { 'not covered yet': report.uncovered });
  facts.push({ removed: report.removed }, { checkpoints: report.checkpoints });
  facts.push({ 'proven from outside': report.outside === null ? 'nothing' : `the first ${report.outside} leaves` });
  if (report.imported !== null) facts.push({ imported: 'yes' });
  if (report.findings.length === 0) return `${facts.toString()}\n${code === 0 ? `${says}\n` : ''}`;
  const found = new Table({
    head: ['leaf', 'class', 'where', 'what'],
    style: { head: [], border: [] },
    colWidths: [12, 13, 26, 24],
    wordWrap: true,
    wrapOnWordBoundary: false,
  });
  for (const { index, to, class: what, stream, revision, says: sentence } of report.findings) {
    const where = stream === undefined ? '' : `${printable(stream)} revision ${revision}`;
    found.push([to === undefined ? index : `${index} to ${to - 1}`, what, where, sentence]);
  }
  return `${facts.toString()}\n${found.toString()}\n`;
};
