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

const latest = 'results/latest/result.json';

const examples = `
Examples:
  npm run bench -- report                                        the newest run again
  npm run bench -- report results/latest/result.json --html page.html
  npm run bench -- report --readme                               rewrites the table in bench/README.md
  npm run bench -- report peers/result.json soak/result.json --readme
                                                                 one table of several runs; the later counts`;

export const reportCommand = (terminal: Terminal): Command =>
  new Command('report')
    .description('Show runs again, make their pages anew, or put their bars into bench/README.md')
    .argument('[results...]', 'result.json of each', [latest])
    .option('--html <file>', 'where the page of a single run goes (default: beside the result)')
    .option('--readme', 'rewrite the table of bars in bench/README.md')
    .addHelpText('after', examples)
    .action((files: readonly string[], { html, readme }: ReportOptions) => {
      if (html !== undefined && files.length > 1) throw new Error('--html is for one result.');
      const results = files.map(readResult);
      for (const [i, result] of results.entries()) {
        const page = html ?? join(dirname(files[i]!), 'report.html');
        writeFileSync(page, htmlReport(result));
        terminal.out(`${summary(result)}\n${page}\n`);
      }
      if (readme) terminal.out(`${writeReadme(results)}\n`);
      terminal.exit(exitStatusOf({ scenarios: results.flatMap(({ scenarios }) => scenarios) }));
    });
