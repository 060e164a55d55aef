import type { Metadata, Recorded } from '../../kernel/store/store.ts';

interface ClientEvent {
  readonly event?: {
    readonly id: string;
    readonly type: string;
    readonly data: unknown;
    readonly metadata?: unknown;
    readonly streamId: string;
    readonly revision: bigint;
    readonly position?: { readonly commit: bigint };
  };
  readonly commitPosition?: bigint;
}

/** Weir's events are JSON objects; other data is foreign and stays recognisable. */
const objectOf = (value: unknown): Record<string, unknown> => {
  if (value instanceof Uint8Array) return { $base64: Buffer.from(value).toString('base64') };
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return { $json: value };
};

/** Commit and prepare position are equal. */
export const recorded = (item: unknown): Recorded => {
  const { event, commitPosition } = item as ClientEvent;
  const position = event?.position?.commit ?? commitPosition;
  if (!event || position === undefined)
    throw new TypeError('the event store sent an event without content or position');
  return {
    id: event.id,
    type: event.type,
    data: objectOf(event.data),
    metadata: objectOf(event.metadata ?? {}) as unknown as Metadata,
    stream: event.streamId,
    revision: Number(event.revision),
    position,
  };
};
