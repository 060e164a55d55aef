import type { RawAppend } from '../../eventstoredb/append.ts';
import type { Archive } from '../../eventstoredb/archive.ts';
import { TooLarge } from '../../eventstoredb/client/errors.ts';
import type { RawEvent } from '../../eventstoredb/client/raw-event.ts';
import { Failure } from '../../process/failure.ts';
import { printable } from '../terminal.ts';
import { described, isWeirs, TOMBSTONE } from './store-streams.ts';

/** Writes events unchanged into a store, and counts those that it has already. */
export class Importer {
  written = 0;
  alreadyThere = 0;
  private readonly archive: Archive;
  private readonly tombstoned: ReadonlySet<string>;
  /** The last position of the store before the import. */
  private end = 0n;
  /** Metadata events of the store by `stream@revision`; read when first needed. */
  private metadata: Map<string, RawEvent> | undefined;

  /** @param tombstoned streams that the import deletes for good */
  constructor(archive: Archive, tombstoned: ReadonlySet<string>) {
    this.archive = archive;
    this.tombstoned = tombstoned;
  }

  async begin(): Promise<void> {
    this.end = (await this.archive.last())?.position ?? -1n;
  }

  /** Writes the appends in order, all at once in flight. @throws Failure if the store has another history */
  async write(appends: readonly RawAppend[]): Promise<void> {
    const [first] = appends;
    if (first?.events[0]?.revision === TOMBSTONE) {
      await this.writeTombstone(first.stream);
      return;
    }
    const answers = await Promise.all(appends.map((append) => this.archive.append(append))).catch((error: unknown) => {
      if (!(error instanceof TooLarge)) throw error;
      // The error does not name the append, but it is the largest.
      throw this.refused(appends.toSorted((a, b) => bytesOf(b) - bytesOf(a))[0]!, error.message, null);
    });
    for (const [i, answer] of answers.entries()) {
      const append = appends[i]!;
      if (answer.is === 'written') this.count(append.events.length, answer.position);
      else if (answer.is === 'refused') throw this.refused(append, answer.reason, answer.limit);
      else await this.oneByOne(append);
    }
  }

  private count(events: number, position: bigint): void {
    if (position <= this.end) this.alreadyThere += events;
    else this.written += events;
  }

  /** @param limit in bytes; null if too large for a store that does not report its limit, undefined for other reasons */
  private refused(append: RawAppend, reason: string, limit: number | null | undefined): Failure {
    const { stream, events } = append;
    const where = `${stream} at revision ${events[0]!.revision}`;
    if (limit === undefined && !/Maximum.*Size/.test(reason))
      return new Failure(printable(`The store refuses ${where}: ${reason.replace(/\.$/, '')}.`));
    const size = bytesOf(append).toLocaleString('en');
    const most = limit == null ? reason.replace(/\.$/, '') : `it takes ${limit.toLocaleString('en')} at once`;
    return new Failure(
      printable(
        `The store refuses ${where}, whose data has ${size} bytes: ${most}. ${isWeirs(stream) ? larger : leaveOut}`,
      ),
    );
  }

  /** For an append of which the store may have a part. */
  private async oneByOne({ stream, events }: RawAppend): Promise<void> {
    for (const event of events) {
      const append = { stream, expected: event.revision - 1n, events: [event] };
      const answer = await this.archive.append(append);
      if (answer.is === 'written') this.count(1, answer.position);
      else if (answer.is === 'refused') throw this.refused(append, answer.reason, answer.limit);
      else if (answer.is === 'deleted' && this.tombstoned.has(described(stream) ?? stream)) this.alreadyThere++;
      else {
        const same = described(stream) === undefined ? undefined : await this.sameMetadata(event);
        if (same !== undefined) {
          this.count(1, same.position);
          continue;
        }
        const found =
          answer.is === 'deleted' ? 'was deleted there' : `has something else there at revision ${event.revision}`;
        throw new Failure(
          printable(`This store has another history: ${stream} ${found}. Nothing further was imported.`),
        );
      }
    }
  }

  /** A stream recreated after its deletion gets metadata from the store itself with another id: then the content is compared. */
  private async sameMetadata(event: RawEvent): Promise<RawEvent | undefined> {
    let there = await this.archive.last(event.stream);
    if (there?.revision !== event.revision) {
      this.metadata ??= await this.readMetadata();
      there = this.metadata.get(`${event.stream}@${event.revision}`);
    }
    return there !== undefined && saysTheSame(there, event) ? there : undefined;
  }

  private async readMetadata(): Promise<Map<string, RawEvent>> {
    const found = new Map<string, RawEvent>();
    for await (const event of this.archive.readAll()) {
      if (described(event.stream) !== undefined) found.set(`${event.stream}@${event.revision}`, event);
    }
    return found;
  }

  private async writeTombstone(stream: string): Promise<void> {
    if ((await this.archive.tombstone(stream)) === 'written') this.written++;
    else this.alreadyThere++;
  }
}

const larger = 'Import into a store that takes more, as KurrentDB does.';
const leaveOut = `It is of another application: export again without --all, or import into a store that takes more, as KurrentDB does.`;

const bytesOf = ({ events }: RawAppend): number => events.reduce((sum, { data }) => sum + data.length, 0);

/** JSON.parse rounds numbers above 2^53, such as `$tb` of a deleted stream, so their digits are compared too. */
const digits = (text: string): string => (text.match(/\d{16,}/g) ?? []).join();

const saysTheSame = (a: RawEvent, b: RawEvent): boolean => {
  if (a.type !== b.type) return false;
  const [one, other] = [a, b].map(({ data }) => Buffer.from(data).toString('utf8')) as [string, string];
  if (one === other) return true;
  try {
    return sorted(JSON.parse(one)) === sorted(JSON.parse(other)) && digits(one) === digits(other);
  } catch {
    return false;
  }
};

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
