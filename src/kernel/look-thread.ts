import { parentPort, workerData } from 'node:worker_threads';
import { lookAtRows } from './rows/row-file.ts';

parentPort?.postMessage(lookAtRows(workerData as string));
