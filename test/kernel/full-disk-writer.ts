import { writeFileSync } from 'node:fs';
import { openRows, table } from '../../src/kernel/rows/rows.ts';

const { DIR, DISK_FULL_WHILE } = process.env as { DIR: string; DISK_FULL_WHILE: string };
const things = table<{ is: string }>('things');
const write = (is: string) => rows.write(new Map([[things.name, new Map([['one', { is }]])]]), new Map());

const rows = openRows(DIR, [things]);
await write('first');
writeFileSync(DISK_FULL_WHILE, '');
const error: unknown = await write('second').catch((failure: unknown) => failure);
await rows.close();

const again = openRows(DIR, [things], { readOnly: true });
process.stdout.write(JSON.stringify({ code: (error as { code?: number }).code, read: again.get(things, 'one') }));
