/** Every metric of Weir; the README's table is made from it. */

interface Described {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const metric =
  (type: Described['type']) =>
  (labels: readonly string[], help: string): Described => ({ type, labels, help });
const [counter, gauge, histogram] = [metric('counter'), metric('gauge'), metric('histogram')] as const;

export const catalogue = {
  weir_build_info: gauge(['version'], 'Always 1: which version of Weir this is.'),
  weir_http_requests_total: counter(
    ['method', 'route', 'status'],
    'Requests by route and status; 499 for a connection that ended before its answer began.',
  ),
  weir_http_request_duration_seconds: histogram(
    ['method', 'route'],
    'From the headers of a request to the end of its answer, upstream and client included.',
  ),
  weir_http_requests_in_flight: gauge([], 'Requests whose body, handler or answer is not finished.'),
  weir_http_streams_open: gauge([], 'Streamed answers that are being sent.'),
  weir_http_buffered_bytes: gauge([], 'Bytes of bodies and answers held by requests in flight.'),
  weir_certificate_expiry_timestamp_seconds: gauge(
    [],
    'When the certificate that is served expires, in seconds since 1970; without TLS there is none.',
  ),
  weir_gateway_overhead_seconds: histogram(
    [],
    'What the gateway itself adds to a request for a model before the first byte of its answer.',
  ),
  weir_rate_limit_refusals_total: counter(
    ['scope', 'metric'],
    'Answers 429 by the limit that they name; scope address for unknown credentials.',
  ),
  weir_tokens_total: counter(
    ['model', 'kind'],
    'Tokens of requests given to upstreams: input, output, cache_creation, cache_read.',
  ),
  weir_upstream_requests_total: counter(
    ['model', 'status'],
    'Requests given to upstreams, by the status that the client got; 499 if it left before the end.',
  ),
  weir_upstream_first_byte_seconds: histogram(
    ['model'],
    'From sending a request to an upstream to the first piece of a streamed answer.',
  ),
  weir_upstream_duration_seconds: histogram(
    ['model'],
    'From sending a request to an upstream to the end of its answer, or its failure.',
  ),
  weir_upstream_breaker_open: gauge(
    ['model', 'upstream'],
    'Of models with several upstreams: 1 if the upstream gets no requests except probes.',
  ),
  weir_upstream_unasked_total: counter(
    ['model', 'upstream'],
    'Connections closed because bytes came that no request had asked for, such as a second answer.',
  ),
  weir_check_ok: gauge(['check'], '1 for each check of GET /v1/ready that passes, else 0.'),
  weir_audit_log_signed: gauge(
    [],
    '1 while this gateway signs the audit log; 0 if signing has stopped or its secrets have made none of the keys.',
  ),
  weir_audit_keys_passed_over: gauge(
    [],
    'Audit-log keys that are not trusted (not signed by the key before): somebody has written them.',
  ),
  weir_store_up: gauge([], '1 while the event store takes commands.'),
  weir_store_append_seconds: histogram([], 'Appends to the event store that succeeded.'),
  weir_store_append_failures_total: counter(
    [],
    'Appends to the event store that failed, including those of commands that ran out of time.',
  ),
  weir_store_probe_seconds: gauge(
    [],
    'How long the last poll of the end of the log took; there are two a second while the store is reachable.',
  ),
  weir_projection_lag_seconds: gauge(
    [],
    'Age in seconds of the newest state shown by the lists and the keys; up to half a second at rest.',
  ),
  weir_usage_journal_lag_seconds: gauge(
    [],
    'Usage records older than this many seconds are in the event store; newer ones may wait in the journal.',
  ),
  weir_usage_journal_full: gauge(
    [],
    '1 while usage records cannot be written and requests for models are therefore refused.',
  ),
  weir_limit_records: gauge(['family'], 'Keys, projects and organizations whose windows are counted.'),
  weir_limit_window_bytes: gauge(['family'], 'Memory that the windows of the limits have taken.'),
  weir_signals_total: counter(['signal'], 'Log lines by signal name, repeats included.'),
  weir_log_lines_dropped_total: counter([], 'Lines of the log that were dropped because their reader was too slow.'),
};

export type MetricName = keyof typeof catalogue;

export const metricsTable = (): string =>
  [
    '| metric | type | labels | what it is |',
    '| --- | --- | --- | --- |',
    ...Object.entries(catalogue).map(
      ([name, { type, labels, help }]) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    ),
  ].join('\n');
