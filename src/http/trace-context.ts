/** W3C Trace Context, as it is passed on. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32}-)(?!0{16})([0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;
/** The recommended minimum of characters. */
const longestState = 512;
const state = /^[\x20-\x7e]+$/;

/** Undefined if invalid. */
const parentOf = (value: string): string | undefined => {
  const [, version, trace, parent, more] = form.exec(value) ?? [];
  // Only later versions may have more.
  return version === undefined || (version === '00' && more !== undefined) ? undefined : `00-${trace}${parent}`;
};

/** Of several `traceparent` none counts; several `tracestate` form a list. @param fields names and values */
export const traceContextOf = (fields: readonly string[]): TraceContext | undefined => {
  let found: string | undefined;
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== 'traceparent') continue;
    if (found !== undefined) return undefined;
    found = fields[i + 1]!;
  }
  const traceparent = found === undefined ? undefined : parentOf(found);
  if (traceparent === undefined) return undefined;
  const tracestate = fields.filter((_, at) => at % 2 === 1 && fields[at - 1] === 'tracestate').join(',');
  return tracestate.length <= longestState && state.test(tracestate) ? { traceparent, tracestate } : { traceparent };
};
