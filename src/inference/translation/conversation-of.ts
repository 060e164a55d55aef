import type { Block, Path, Translated } from './translated.ts';

/** A block, and the part of its item that it was made from. */
export interface Made {
  readonly block: Block;
  readonly path: Path;
}

/** Parts with the blocks that they are made into. Empty text says nothing, and has no place in messages. */
export const madeOf = <P>(parts: readonly P[], blockOf: (part: P) => Block): Made[] =>
  parts
    .map((part, index) => ({ block: blockOf(part), path: ['content', index] }))
    .filter(({ block: { type, text } }) => type !== 'text' || text !== '');

/** One item of a conversation: a message, a call, a result. */
export interface Item {
  /** In the request. */
  readonly place: Path;
  readonly role: 'user' | 'assistant' | 'system';
  readonly made: readonly Made[];
}

/** The messages of a translated request, and what they were made from. */
export interface Conversation {
  readonly messages: readonly { readonly role: Item['role']; readonly content: readonly Block[] }[];
  readonly system: readonly Block[] | null;
  /** Of each message: its item in the request, and the part of it that each block was made from. */
  readonly origins: readonly { readonly place: Path; readonly blocks: readonly Path[] }[];
  /** Of each block of the system prompt: its place in the request. */
  readonly systemOrigins: readonly Path[];
}

/**
 * Items as messages: those of the system at the start become the system prompt, later ones stay where they are. What says nothing
 * is left out, unless it is the user's, who is told so.
 *
 * @param lead blocks of the system prompt that stand before all items, by their place in the request
 */
export const conversationOf = (sent: readonly Item[], lead: readonly Made[] = []): Conversation => {
  const items = sent.filter(({ role, made }) => made.length > 0 || role === 'user');
  const first = items.findIndex(({ role }) => role !== 'system');
  const count = first === -1 ? items.length : first;
  const leading = items
    .slice(0, count)
    .flatMap(({ made, place }) => made.map(({ block, path }) => ({ block, path: [...place, ...path] })));
  const system = [...lead, ...leading];
  const turns = items.slice(count);
  return {
    messages: turns.map(({ role, made }) => ({ role, content: made.map(({ block }) => block) })),
    system: system.length > 0 ? system.map(({ block }) => block) : null,
    origins: turns.map(({ place, made }) => ({ place, blocks: made.map(({ path }) => path) })),
    systemOrigins: system.map(({ path }) => path),
  };
};

/** How an API calls what the messages API calls otherwise. */
export interface Names {
  /** The items of the conversation. */
  readonly list: string;
  /** What the result of a tool call holds. */
  readonly result: string;
  /** The most tokens of an answer. */
  readonly limit: string;
  /** From a tool to its function. */
  readonly tool: Path;
  readonly effort: Path;
  readonly format: Path;
  readonly schema: Path;
  readonly user: string;
}

/** Tells places in a translated request by what the caller sent. */
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
        // Only the result of a tool holds more of the conversation.
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
