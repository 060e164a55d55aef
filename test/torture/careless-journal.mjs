/**
 * Preloaded into a gateway whose protection is to be off: what finds no room on the disk counts as written, so that requests are
 * answered whose accounts are nowhere.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { writeSync } = fs;
fs.writeSync = (...call) => {
  try {
    return writeSync(...call);
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
    return call[1].length;
  }
};
syncBuiltinESMExports();
