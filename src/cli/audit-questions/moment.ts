import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import type { Moment } from '../../audit/history.ts';
import { systemClock } from '../../clock.ts';
import { timeOf } from '../../date-time.ts';
import { type Terminal, UsageError } from '../terminal.ts';
import type { When } from './words.ts';

const date = z.iso.date();

const shortened = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds of an ISO time with a zone, in the form of pages too, or of a date (its start in UTC); else undefined. */
export const givenTime = (text: string): number | undefined => {
  if (date.safeParse(text).success) return Date.parse(`${text}T00:00:00Z`);
  const iso = text
    .replace(/^(\S+) (\S+) UTC$/, '$1T$2Z')
    .replace(/^(\S+) (\S+) ([+-]\S+)$/, '$1T$2$3')
    .replace(shortened, '$1:00$2');
  return timeOf(iso);
};

export const parseTime = (text: string): number => {
  const time = givenTime(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    'Give a time with its zone, such as 2026-11-20T12:00:00Z, or a date, whose first moment in UTC is meant.',
  );
};

export const parseMoment = (text: string): Moment => {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const time = givenTime(text);
  if (time !== undefined) return { time };
  throw new InvalidArgumentError(
    'Give a time with its zone, such as 2026-11-20T12:00:00Z, a date, whose first moment in UTC is meant, or a revision.',
  );
};

/** @throws UsageError if the span ends before it begins */
export const checkSpan = (from: number | undefined, to: number | undefined): void => {
  if (from !== undefined && to !== undefined && to < from) throw new UsageError('--to must not be before --from.');
};

export const noteWhatIsAhead = (terminal: Terminal, time: number, when: When): void => {
  if (time > systemClock.wall())
    terminal.err(`${when(time)} has not come yet: this is what will be if nothing changes until then.\n`);
};
