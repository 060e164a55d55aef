import type { Endpoint } from '../../http/routing/endpoint.ts';
import type { Finished } from '../requests/observation.ts';
import { ByStatus, type Distribution, latencies, overheads } from './cells.ts';
import type { Samples } from './exposition.ts';

interface RouteCells {
  readonly labels: { readonly method: string; readonly route: string };
  readonly statuses: ByStatus;
  readonly duration: Distribution;
}

interface ModelCells {
  readonly statuses: ByStatus;
  readonly firstByte: Distribution;
  readonly duration: Distribution;
  input: number;
  output: number;
  cacheCreation: number;
  cacheRead: number;
}

/** Unknown routes and undeclared models. */
const other = 'other';

const routeCells = (method: string, route: string): RouteCells => ({
  labels: { method, route },
  statuses: new ByStatus(),
  duration: latencies(),
});
const modelCells = (): ModelCells => ({
  statuses: new ByStatus(),
  firstByte: latencies(),
  duration: latencies(),
  input: 0,
  output: 0,
  cacheCreation: 0,
  cacheRead: 0,
});

/** Labels are documented routes and declared models, never client input, so that their number is bounded. */
export class RequestMetrics {
  readonly #routes = new Map<Endpoint, RouteCells>();
  /** A HEAD has the route of its GET. */
  readonly #heads = new Map<Endpoint, RouteCells>();
  readonly #noRoute = routeCells(other, other);
  readonly #models = new Map<string, ModelCells>();
  readonly #otherModel = modelCells();
  readonly #overhead = overheads();

  constructor(models: Iterable<string>) {
    this.declare(models);
  }

  declare(models: Iterable<string>): void {
    for (const id of models) if (!this.#models.has(id)) this.#models.set(id, modelCells());
  }

  finished(request: Finished): void {
    const route = this.#cellsOf(request);
    route.statuses.add(request.status);
    route.duration.add(request.durationMs / 1000);
    const { asked } = request;
    if (asked === undefined) return;
    const model = this.#models.get(asked.metered.model) ?? this.#otherModel;
    model.statuses.add(asked.status);
    model.duration.add(asked.durationMs / 1000);
    if (asked.firstPieceMs !== undefined) model.firstByte.add(asked.firstPieceMs / 1000);
    const { overheadMs } = request;
    if (overheadMs !== undefined) this.#overhead.add(overheadMs / 1000);
    const { input, output, cacheCreation, cacheRead } = asked.tokens;
    model.input += input;
    model.output += output;
    model.cacheCreation += cacheCreation;
    model.cacheRead += cacheRead;
  }

  #cellsOf({ target, method }: Finished): RouteCells {
    if (target === undefined) return this.#noRoute;
    const all = method === 'HEAD' ? this.#heads : this.#routes;
    let cells = all.get(target);
    if (cells === undefined) {
      cells = routeCells(method, target.path);
      all.set(target, cells);
    }
    return cells;
  }

  get samples() {
    const routes = () =>
      [...this.#routes.values(), ...this.#heads.values(), this.#noRoute].filter(({ duration }) => duration.isUsed);
    const models = () =>
      [...this.#models, [other, this.#otherModel] as const].filter(([, { duration }]) => duration.isUsed);
    return {
      weir_http_requests_total: () =>
        routes().flatMap(({ labels, statuses }) =>
          [...statuses].map(([status, value]) => ({ labels: { ...labels, status: `${status}` }, value })),
        ),
      weir_http_request_duration_seconds: () => routes().map(({ labels, duration: value }) => ({ labels, value })),
      weir_gateway_overhead_seconds: () => [{ labels: {}, value: this.#overhead }],
      weir_tokens_total: () =>
        models().flatMap(([model, { input, output, cacheCreation, cacheRead }]) => [
          { labels: { model, kind: 'input' }, value: input },
          { labels: { model, kind: 'output' }, value: output },
          { labels: { model, kind: 'cache_creation' }, value: cacheCreation },
          { labels: { model, kind: 'cache_read' }, value: cacheRead },
        ]),
      weir_upstream_requests_total: () =>
        models().flatMap(([model, { statuses }]) =>
          [...statuses].map(([status, value]) => ({ labels: { model, status: `${status}` }, value })),
        ),
      weir_upstream_first_byte_seconds: () =>
        models().map(([model, { firstByte: value }]) => ({ labels: { model }, value })),
      weir_upstream_duration_seconds: () =>
        models().map(([model, { duration: value }]) => ({ labels: { model }, value })),
    } satisfies Samples;
  }
}
