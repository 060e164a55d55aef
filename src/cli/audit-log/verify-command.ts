import Table from 'cli-table3';
import { Command } from 'commander';
import { Failure } from '../../app/failure.ts';
import { type Verdict, verdictOf } from '../../audit/log/verify/verdict.ts';
import { type Report, verifyLog } from '../../audit/log/verify/verify.ts';
import { StoreCorrupt } from '../../embedded/index.ts';
import { StoreDamaged, StoreUnavailable } from '../../kernel/store.ts';
import { printable, type Terminal } from '../terminal.ts';
import { allEvents, onLog, outsideCheckpoints, trustedKeys } from './audit-source.ts';

interface Options {
  readonly against: readonly string[];
  readonly pub: readonly string[];
  readonly json?: true;
}

/** The store cannot be read: nothing is said of the log. */
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
    .action(async (options: Options) => {
      const report = await readable(() =>
        onLog(terminal, async ({ store }, config) =>
          verifyLog(allEvents(terminal, store, 'Verifying'), {
            against: outsideCheckpoints(config, options.against),
            trusted: await trustedKeys(config, store, options.pub),
          }),
        ),
      );
      const verdict = verdictOf(report);
      terminal.out(options.json ? asJson(report, verdict) : asText(report, verdict));
      if (verdict.code !== 0) throw new Failure(verdict.says, verdict.code);
    });

const readable = async (work: () => Promise<Report>): Promise<Report> => {
  try {
    return await work();
  } catch (error) {
    const kinds = [StoreDamaged, StoreCorrupt, StoreUnavailable];
    const cause = error instanceof Error ? error.cause : undefined;
    if (!kinds.some((kind) => error instanceof kind || cause instanceof kind)) throw error;
    throw new Failure(`The store cannot be read: ${(error as Error).message}`, unreadable, error);
  }
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
