import type { Block, Path, Translated } from './translated.ts';

/** A block, and the part of its item that it was made from. */
export interface Made {
  readonly block: Block;
  readonly path: Path;
}

/** Empty text is dropped. */
export const madeOf = <P>(parts: readonly P[], blockOf: (part: P) => Block): Made[] =>
  parts
    .map((part, index) => ({ block: blockOf(part), path: ['content', index] }))
    .filter(({ block: { type, text } }) => type !== 'text' || text !== '');

export interface Item {
  /** In the request. */
  readonly place: Path;
  readonly role: 'user' | 'assistant' | 'system';
  /** The speaker. */
  readonly name?: string | undefined;
  readonly made: readonly Made[];
}

export interface Conversation {
  readonly messages: readonly (Pick<Item, 'role' | 'name'> & { readonly content: readonly Block[] })[];
  readonly system: readonly Block[] | null;
  /** By message: the item, and the part of each block. */
  readonly origins: readonly { readonly place: Path; readonly blocks: readonly Path[] }[];
  /** By block of the system prompt. */
  readonly systemOrigins: readonly Path[];
}

/** Empty items are dropped, except the user's. @param lead blocks before all items */
export const conversationOf = (sent: readonly Item[], lead: readonly Made[] = []): Conversation => {
  const items = sent.filter(({ role, made }) => made.length > 0 || role === 'user');
  const first = items.findIndex(({ role }) => role !== 'system');
  const count = first === -1 ? items.length : first;
  const leading = items
    .slice(0, count)
    .flatMap(({ made, name, place }) =>
      made.map(({ block, path }) => ({ block: name ? { ...block, name } : block, path: [...place, ...path] })),
    );
  const system = [...lead, ...leading];
  const turns = items.slice(count);
  return {
    messages: turns.map(({ role, name, made }) => ({ role, name, content: made.map(({ block }) => block) })),
    system: system.length > 0 ? system.map(({ block }) => block) : null,
    origins: turns.map(({ place, made }) => ({ place, blocks: made.map(({ path }) => path) })),
    systemOrigins: system.map(({ path }) => path),
  };
};

/** The API's names for fields of messages. */
export interface Names {
  readonly list: string;
  readonly result: string;
  readonly limit: string;
  /** The path to its function. */
  readonly tool: Path;
  readonly effort: Path;
  readonly format: Path;
  readonly schema: Path;
  readonly user: string;
}

/** Translates places to those of the sent request. */
export const placesOf =
  ({ origins, systemOrigins }: Pick<Conversation, 'origins' | 'systemOrigins'>, names: Names): Translated['placeOf'] =>
  (path) => {
    const [first, second, third, fourth, inner] = path;
    switch (first) {
      case 'messages': {
        const origin = second === undefined ? undefined : origins[Number(second)];
        if (origin === undefined) return [names.list];
        const { place, blocks } = origin;
        if (third !== 'content') return third === 'role' ? [...place, 'role'] : place;
        // Only tool results hold further content.
        if (inner === 'content') return [...place, names.result, ...path.slice(5, 6)];
        return [...place, ...((fourth === undefined ? undefined : blocks[Number(fourth)]) ?? ['content'])];
      }
      case 'system':
        return (second === undefined ? undefined : systemOrigins[Number(second)]) ?? [names.list];
      case 'max_tokens':
        return [names.limit];
      case 'stop_sequences':
        return second === undefined ? ['stop'] : ['stop', second];
      case 'tools': {
        if (second === undefined) return ['tools'];
        if (third === undefined) return ['tools', second];
        const declared = ['tools', second, ...names.tool];
        return third === 'input_schema' ? [...declared, 'parameters', ...path.slice(3)] : [...declared, third];
      }
      case 'tool_choice':
        return ['tool_choice'];
      case 'thinking':
        return names.effort;
      case 'output_config':
        if (second === 'effort') return names.effort;
        return third === 'schema' ? [...names.schema, ...path.slice(3)] : names.format;
      case 'metadata':
        return [names.user];
      default:
        return path;
    }
  };
