import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { exportCommand } from './audit-log/export-command.ts';
import { checkpointCommand, keyCommand, rotateKeyCommand } from './audit-log/key-commands.ts';
import { consistencyCommand, proveCommand } from './audit-log/proof-commands.ts';
import { verifyCommand } from './audit-log/verify-command.ts';
import { chargeCommand } from './audit-questions/charge-command.ts';
import { diffCommand } from './audit-questions/diff-command.ts';
import { historyCommand } from './audit-questions/history-command.ts';
import { keysCommand } from './audit-questions/keys-command.ts';
import { logCommand } from './audit-questions/log-command.ts';
import { stateCommand } from './audit-questions/state-command.ts';
import { whoCommand } from './audit-questions/who-command.ts';
import { withExamples } from './examples.ts';
import type { Terminal } from './terminal.ts';

const examples = `
Examples:
  weir audit history key_01jd…                      every change of a key: who, when, by which request
  weir audit history proj_01jd… --jsonl             the same, one JSON object a line
  weir audit state proj_01jd… --at 2026-11-20T12:00:00Z
  weir audit state proj_01jd… --at 3                as its fourth event (number 3) left it
  weir audit keys proj_01jd… --at 2026-05-03        which keys could act then, and why the others could not
  weir audit diff key_01jd… --from 2026-05-01 --to 2026-06-01
  weir audit diff org_01jd… --from 2026-05-01       of all that it has: field by field, who, why, by which request
  weir audit who akey_01jd… --from 2026-05-01       all that a credential did; also operator:jo
  weir audit log org_01jd… --type api_key.created --from 2026-05-01 --jsonl
  weir audit log --follow                           each change as it comes
  weir audit charge req_01jd…                       what a request cost, worked out from events
  weir audit verify --against /mnt/worm/checkpoints  whether anybody has rewritten the log
  weir audit prove project-proj_01jd…@0             that an event is in the log, to be checked elsewhere
  weir audit consistency monday tuesday             that one checkpoint’s log has become another’s
  weir audit export --out acme.ndjson --organization org_01jd…
                                                    what an auditor takes away, with its proofs
  weir audit verifier > verify_export.py            what verifies an export without Weir, in Python
  weir audit checkpoint                             the newest signed checkpoint, to keep elsewhere
  weir audit key                                    the public keys, for whoever verifies elsewhere
  weir audit rotate-key --reason "yearly"           sign with another key from now on`;

/** Relative to both the sources and the build. */
const verifierFile = new URL('../audit/verify_export.py', import.meta.url);

const verifierCommand = (terminal: Terminal): Command =>
  new Command('verifier')
    .description(
      'Print a program in Python that verifies an export without Weir: weir audit verifier > verify_export.py',
    )
    .action(() => terminal.out(readFileSync(verifierFile, 'utf8')));

export const auditCommand = (terminal: Terminal): Command => {
  const audit = new Command('audit').description('Replay what happened, and prove that nobody has rewritten it');
  withExamples(audit, examples);
  audit.addCommand(historyCommand(terminal));
  audit.addCommand(stateCommand(terminal));
  audit.addCommand(keysCommand(terminal));
  audit.addCommand(diffCommand(terminal));
  audit.addCommand(whoCommand(terminal));
  audit.addCommand(logCommand(terminal));
  audit.addCommand(chargeCommand(terminal));
  audit.addCommand(verifyCommand(terminal));
  audit.addCommand(proveCommand(terminal));
  audit.addCommand(consistencyCommand(terminal));
  audit.addCommand(exportCommand(terminal));
  audit.addCommand(verifierCommand(terminal));
  audit.addCommand(checkpointCommand(terminal));
  audit.addCommand(keyCommand(terminal));
  audit.addCommand(rotateKeyCommand(terminal));
  return audit;
};
