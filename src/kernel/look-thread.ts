import { parentPort, workerData } from 'node:worker_threads';
import { lookAtRows } from './row-file.ts';

parentPort?.postMessage(lookAtRows(workerData as string));
