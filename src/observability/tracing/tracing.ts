import type { Context, Tracer as OtelTracer, Span, SpanContext } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { atMost, type Millis } from '../../clock.ts';
import type { WatchedHead } from '../../http/exchange/watch.ts';
import type { Metered } from '../../http/route.ts';
import type { Endpoint } from '../../http/routing/endpoint.ts';
import { type TraceContext, traceContextOf } from '../../http/trace-context.ts';
import { publish } from '../../telemetry.ts';
import { version } from '../../version.ts';
import type { Asked, Finished, Spans } from '../requests/observation.ts';
import { shownPath } from './shown-path.ts';

export interface Tracing {
  readonly spansOf: (head: WatchedHead, target: Endpoint | undefined) => Spans;
  close(): Promise<void>;
}

interface Gateway {
  /** Of Weir itself: a proxy in front may use another. */
  readonly scheme: 'http' | 'https';
  /** `gen_ai.provider.name` of a declared model; undefined for any other text. */
  readonly providerOf: (model: string) => string | undefined;
}

const nameOf = (method: string, target: Endpoint | undefined): string =>
  target === undefined ? 'no route' : `${method} ${target.path}`;

const contextOf = (traceparent: string): SpanContext => {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string];
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
};

const parentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

const lastMs: Millis = 1_000;
const longestReason = 200;

/** The collector's answer is not repeated. */
const reasonOf = ({ message, code }: Error & { readonly code?: unknown }): string =>
  (message || `${code ?? 'no reason given'}`).slice(0, longestReason);

/** Reports once that spans cannot be sent, and once that they can again. */
const telling = (exporter: SpanExporter): SpanExporter => {
  let isLost = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && !isLost) publish('traces.unsent', { reason: reasonOf(error) });
        if (error === undefined && isLost) publish('traces.sent', {});
        isLost = error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
};

interface Tracer {
  readonly api: typeof import('@opentelemetry/api');
  readonly tracer: OtelTracer;
  readonly gateway: Gateway;
}

class RequestSpans implements Spans {
  readonly #tracing: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  readonly #state: string | undefined;
  #upstream: Span | undefined;

  constructor(tracing: Tracer, head: WatchedHead, target: Endpoint | undefined) {
    this.#tracing = tracing;
    const { api, tracer, gateway } = tracing;
    const { method, path, requestId, fields } = head;
    const from = traceContextOf(fields);
    const root = api.ROOT_CONTEXT;
    const parent = from ? api.trace.setSpanContext(root, contextOf(from.traceparent)) : root;
    const attributes = {
      'weir.request_id': requestId,
      'url.scheme': gateway.scheme,
      'url.path': shownPath(path, target, (text) => gateway.providerOf(text) !== undefined),
      ...(target !== undefined && { 'http.request.method': method, 'http.route': target.path }),
    };
    this.#state = from?.tracestate;
    this.#span = tracer.startSpan(nameOf(method, target), { kind: api.SpanKind.SERVER, attributes }, parent);
    this.#context = api.trace.setSpan(root, this.#span);
  }

  get trace(): TraceContext {
    const traceparent = parentOf((this.#upstream ?? this.#span).spanContext());
    return this.#state === undefined ? { traceparent } : { traceparent, tracestate: this.#state };
  }

  asks(metered: Metered): void {
    const { api, tracer, gateway } = this.#tracing;
    const { model, maxTokens } = metered;
    const operation = metered.api === 'embeddings' ? 'embeddings' : 'chat';
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': gateway.providerOf(model),
      'gen_ai.request.model': model,
      'gen_ai.request.max_tokens': maxTokens,
      'weir.api': metered.api,
    };
    this.#upstream = tracer.startSpan(
      `${operation} ${model}`,
      { kind: api.SpanKind.CLIENT, attributes },
      this.#context,
    );
  }

  asked({ status, tokens, firstPieceMs }: Asked): void {
    const span = this.#upstream;
    this.#upstream = undefined;
    if (span === undefined) return;
    span.setAttributes({
      ...tokenAttributes(tokens),
      'http.response.status_code': status,
      ...(firstPieceMs !== undefined && { 'weir.first_piece_ms': firstPieceMs }),
    });
    if (status >= 400) span.setStatus({ code: this.#tracing.api.SpanStatusCode.ERROR });
    span.end();
  }

  ends({ status, model, asked }: Finished): void {
    if (asked !== undefined) this.asked(asked);
    const span = this.#span;
    span.setAttributes({
      'http.response.status_code': status,
      ...(model !== undefined && { 'gen_ai.request.model': model }),
      ...(asked !== undefined && tokenAttributes(asked.tokens)),
    });
    if (status >= 500) span.setStatus({ code: this.#tracing.api.SpanStatusCode.ERROR });
    span.end();
  }
}

/**
 * Loads the packages of OpenTelemetry, which read its other variables (`OTEL_SERVICE_NAME`, …).
 * @param endpoint of the collector, without `/v1/traces`
 */
export const openTracing = async (endpoint: string, gateway: Gateway): Promise<Tracing> => {
  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` });
  const resource = resources
    .resourceFromAttributes({ 'service.name': 'weir', 'service.version': version })
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const provider = new sdk.BasicTracerProvider({
    resource,
    spanProcessors: [new sdk.BatchSpanProcessor(telling(exporter))],
  });
  const tracing = { api, tracer: provider.getTracer('weir', version), gateway };

  return {
    spansOf: (head, target) => new RequestSpans(tracing, head, target),
    async close() {
      await atMost(
        lastMs,
        provider.shutdown().catch(() => {}),
      );
    },
  };
};

const tokenAttributes = ({ input, output, cacheCreation, cacheRead }: Asked['tokens']) => ({
  // The conventions count cached tokens as input.
  'gen_ai.usage.input_tokens': input + cacheCreation + cacheRead,
  'gen_ai.usage.output_tokens': output,
  'gen_ai.usage.cache_creation.input_tokens': cacheCreation,
  'gen_ai.usage.cache_read.input_tokens': cacheRead,
});
