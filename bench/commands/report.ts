import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { summary } from '../report/console.ts';
import { htmlReport } from '../report/html.ts';
import { readResult } from '../report/read.ts';
import { writeReadme } from '../report/readme.ts';
import { exitStatusOf } from '../report/result.ts';
import type { Terminal } from '../terminal.ts';

interface ReportOptions {
  readonly html?: string;
  readonly readme?: true;
}

const examples = `
Examples:
  npm run bench -- report                                        the newest run again
  npm run bench -- report results/latest/result.json --html page.html
  npm run bench -- report --readme                               rewrites the table in README.md`;

export const reportCommand = (terminal: Terminal): Command =>
  new Command('report')
    .description('Show a run again, make its page anew, or put its bars into the README')
    .argument('[result]', 'result.json', 'results/latest/result.json')
    .option('--html <file>', 'where the page goes (default: beside the result)')
    .option('--readme', 'rewrite the table of bars in README.md')
    .addHelpText('after', examples)
    .action((file: string, { html, readme }: ReportOptions) => {
      const result = readResult(file);
      const page = html ?? join(dirname(file), 'report.html');
      writeFileSync(page, htmlReport(result));
      terminal.out(`${summary(result)}\n${page}\n`);
      if (readme) terminal.out(`${writeReadme(result)}\n`);
      terminal.exit(exitStatusOf(result));
    });
