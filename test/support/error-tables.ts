import { type Code, catalogue, refusal } from '../../src/errors.ts';
import { failure, statusOf } from '../../src/http/error-envelopes.ts';
import type { Family } from '../../src/http/route.ts';

/** The tables of contract E.1 and E.2, from the catalogue of errors and the forms that are written of it. */

const codes = Object.keys(catalogue) as Code[];

const groupedBy = <T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> => {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

const byStatus = groupedBy(codes, (code) => catalogue[code].status);
const statuses = [...byStatus.keys()].toSorted((a, b) => a - b);

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
const quoted = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ');

const typeOf = (code: Code, family: Family): string =>
  (failure(refusal(code), family, '').body as { readonly error: { readonly type: string } }).error.type;

/** The type of most codes of a status. */
const usualType = (status: number, family: Family): string => {
  const own = byStatus.get(status)!.filter((code) => statusOf(code, 'messages') === status);
  const types = own.map((code) => typeOf(code, family));
  return types.toSorted((a, b) => types.filter((t) => t === b).length - types.filter((t) => t === a).length)[0]!;
};

const vocabularies = ['admin', 'messages', 'chat'] as const;

/** Which types an error has by its status, and which codes have another in the form ADMIN. */
export const errorTypesTable = (): string => {
  const usual = groupedBy(statuses, (status) =>
    vocabularies.map((family) => `\`${usualType(status, family)}\``).join(' | '),
  );
  const overloaded = `\`${typeOf('provider_overloaded', 'messages')}\``;
  const special = codes.filter((code) => typeOf(code, 'admin') !== usualType(catalogue[code].status, 'admin'));
  const specials = [...groupedBy(special, (code) => typeOf(code, 'admin'))];
  return table(
    ['status', 'ADMIN', 'MSG', 'CHAT'],
    [
      ...[...usual].map(([types, own]) => [own.join(', '), types]),
      ['529', '–', overloaded, '–'],
      ...specials.map(([type, own]) => [quoted(own), `\`${type}\``, 'by status', 'by status']),
    ],
  );
};

/** Every code, by its status. */
export const errorCodesTable = (): string =>
  table(
    ['status', 'codes'],
    statuses.map((status) => [String(status), `\`${byStatus.get(status)!.join(' ')}\``]),
  );
