import { type Debugger, Session } from 'node:inspector/promises';

export interface Watched {
  /** From the repository's root. */
  readonly file: string;
  /** Of a function, a method or a member that is one. */
  readonly name: string;
}

declare global {
  var calledInOrder: string[];
}

/** After `name`: what a declaration has and a call has not. */
const bodyAfter = (source: string, from: number): number | null => {
  const head = /^(?:<[^>]*>)?\s*(?:[:=]\s*)?(?:async\s*)?\(/.exec(source.slice(from));
  if (head === null) return null;
  let open = 1;
  let at = from + head[0].length;
  for (; open > 0 && at < source.length; at++) open += Number(source[at] === '(') - Number(source[at] === ')');
  const begin = /^\s*(?:=>\s*\{?|\{)/.exec(source.slice(at));
  return begin === null ? null : at + begin[0].length;
};

const bodyOf = (source: string, name: string): number | null => {
  for (const { index, 0: found } of source.matchAll(new RegExp(`(?<![.\\w#])#?${name}(?!\\w)`, 'g'))) {
    const body = bodyAfter(source, index + found.length);
    if (body !== null) return body;
  }
  return null;
};

/**
 * Notes each call of these functions, whose modules have been loaded, in the order of the first calls. Breakpoints do it whose
 * conditions never hold, so that closures and methods are seen as well.
 */
export const callsInOrder = async (watched: readonly Watched[]) => {
  globalThis.calledInOrder = [];
  const session = new Session();
  session.connect();
  const scripts = new Map<string, string>();
  session.on('Debugger.scriptParsed', ({ params }) => void scripts.set(params.url, params.scriptId));
  await session.post('Debugger.enable');
  for (const { file, name } of watched) {
    const url = [...scripts.keys()].find((each) => each.endsWith(`/${file}`));
    if (url === undefined) throw new Error(`${file} is not loaded.`);
    const scriptId = scripts.get(url)!;
    const { scriptSource: source } = await session.post('Debugger.getScriptSource', { scriptId });
    const body = bodyOf(source, name);
    if (body === null) throw new Error(`${file} has no function ${name}.`);
    const before = source.slice(0, body).split('\n');
    const start: Debugger.Location = {
      scriptId,
      lineNumber: before.length - 1,
      columnNumber: before.at(-1)!.length,
    };
    const { locations } = await session.post('Debugger.getPossibleBreakpoints', { start, restrictToFunction: true });
    await session.post('Debugger.setBreakpoint', {
      location: locations[0] ?? start,
      condition: `(globalThis.calledInOrder.push(${JSON.stringify(`${file} ${name}`)}), false)`,
    });
  }
  return {
    /** Each once, by its first call. */
    called: (): readonly string[] => [...new Set(globalThis.calledInOrder)],
    forget: () => void globalThis.calledInOrder.splice(0),
    close: () => session.disconnect(),
  };
};
