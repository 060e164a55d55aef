/** What a request tells of the trace that it is part of (W3C Trace Context), in the form in which it is passed on. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32}-)(?!0{16})([0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;
/** Characters, as the recommendation wants a vendor to be able to pass on. */
const longestState = 512;
const state = /^[\x20-\x7e]+$/;

/** A `traceparent` as the version that is known here has it; undefined where it is to be ignored. */
const parentOf = (value: string): string | undefined => {
  const [, version, trace, parent, more] = form.exec(value) ?? [];
  // Only versions to come may have more.
  return version === undefined || (version === '00' && more !== undefined) ? undefined : `00-${trace}${parent}`;
};

/**
 * The trace of a request by its header fields, names in lower case and values in turn; undefined where there is none or
 * none that is sound. Of several `traceparent` none is, those of several `tracestate` make one list.
 */
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
