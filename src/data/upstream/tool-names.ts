import { hash } from 'node:crypto';
import type { Answer, AnswerBlock, Chunk, ReadBack } from './port.ts';

/** OpenAI's limit of names. */
const mostLetters = 64;
const marked = 10;
const notOfNames = /[^A-Za-z0-9_-]/g;

/** @param parts of the name; the end is a digest of them. @param turn tells names apart that an earlier one has taken */
const markedName = (name: string, parts: readonly string[], turn: number): string => {
  const mark = hash('sha256', JSON.stringify([...parts, turn]), 'base64url').slice(0, marked);
  return `${name.replace(notOfNames, '_').slice(0, mostLetters - marked - 1)}_${mark}`;
};

const isName = (text: string): boolean => text.length <= mostLetters && text.search(notOfNames) === -1;

/** Gives each name another one that servers of OpenAI's APIs take and that is not taken; the same one each time. */
export const namesBeside = (taken: Set<string>): ((name: string, parts: readonly string[]) => string) => {
  const given = new Map<string, string>();
  return (name, parts) => {
    const key = JSON.stringify(parts);
    const known = given.get(key);
    if (known !== undefined) return known;
    let made = name;
    for (let turn = 0; taken.has(made) || !isName(made); turn++) made = markedName(name, parts, turn);
    taken.add(made);
    given.set(key, made);
    return made;
  };
};

/** Names of tools of one request for servers of OpenAI's APIs (contract L.5): longer ones are shortened. */
export class ToolNames {
  readonly #declared: readonly { readonly name: string }[];
  readonly #own = new Map<string, string>();
  #nameOf: ReturnType<typeof namesBeside> | undefined;

  constructor(declared: readonly { readonly name: string }[] | undefined) {
    this.#declared = declared ?? [];
  }

  /** Undefined if all names are the client's. */
  get own(): ReadBack | undefined {
    return this.#own.size > 0 ? this.#own : undefined;
  }

  of(name: string): string {
    if (name.length <= mostLetters) return name;
    // A short name is its own, so none of them is given to another.
    this.#nameOf ??= namesBeside(new Set(this.#declared.map((tool) => tool.name)));
    const made = this.#nameOf(name, [name]);
    this.#own.set(made, name);
    return made;
  }
}

const blockNamed = (block: AnswerBlock, names: ReadBack): AnswerBlock =>
  block.type === 'tool_use' ? { ...block, name: names.get(block.name) ?? block.name } : block;

/** Its calls have the client's names again. */
export const answerNamed = (answer: Answer, names: ReadBack | undefined): Answer =>
  names === undefined ? answer : { ...answer, content: answer.content.map((block) => blockNamed(block, names)) };

export const chunksNamed = (chunks: AsyncIterable<Chunk>, names: ReadBack | undefined): AsyncIterable<Chunk> =>
  names === undefined ? chunks : named(chunks, names);

async function* named(chunks: AsyncIterable<Chunk>, names: ReadBack): AsyncGenerator<Chunk, void, undefined> {
  for await (const chunk of chunks)
    yield chunk.type === 'block_start' ? { ...chunk, block: blockNamed(chunk.block, names) } : chunk;
}
