import { startEmbedded } from '../../src/embedded/index.ts';

const [dir] = process.argv.slice(2);
if (!dir) throw new Error('usage: store-process-main <directory>');
const store = await startEmbedded({ dir, inThread: true });
process.stdout.write(`${store.endpoint}\n`);
// Whoever started us holds this pipe; when it is gone, so are they.
process.stdin.on('end', () => process.exit()).resume();
