import type { ServerResponse } from 'node:http';
import type { Details } from '../../src/tokens.ts';
import { event, type Mock, serve } from '../upstream/mock.ts';

/** What an upstream has done for one request, as it would bill it. */
export interface Billed {
  readonly request_id: string;
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  /** So far. */
  output_tokens: number;
  /** It has sent the whole answer. */
  finished: boolean;
  /** What it bills at other prices, or beside tokens; absent where there is nothing. */
  readonly details?: Details;
}

/** The same as its `usage` says it. */
const toldOf = ({ service_tier, input_cache_write_long: long, web_search }: Details = {}): object => ({
  service_tier: service_tier ?? 'standard',
  cache_creation: { ephemeral_1h_input_tokens: long ?? 0 },
  server_tool_use: web_search === undefined ? null : { web_search_requests: web_search },
});

/**
 * An upstream that speaks the messages API, keeps a ledger of its own and fails now and then: before an answer, in the
 * middle of one, or by being slow.
 */
export const ledgerUpstream = async (random: () => number): Promise<Mock & { readonly ledger: readonly Billed[] }> => {
  const ledger: Billed[] = [];
  const below = (n: number): number => Math.floor(random() * n);
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, below(8)));

  const stream = async (response: ServerResponse, billed: Billed, isBroken: boolean): Promise<void> => {
    const { request_id: _, finished: __, output_tokens, details, ...tokens } = billed;
    const input = { ...tokens, ...toldOf(details) };
    billed.output_tokens = 0;
    const message = { id: 'msg_u', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event('message_start', { message: { ...message, usage: { ...input, output_tokens: 0 } } }));
    response.write(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }));
    const breakAt = isBroken ? below(output_tokens) : output_tokens;
    for (let sent = 0; sent < breakAt && !response.destroyed; sent++) {
      response.write(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'word ' } }));
      billed.output_tokens++;
      if (sent % 10 === 0) await pause();
    }
    if (isBroken || response.destroyed) {
      response.destroy();
      return;
    }
    response.write(event('content_block_stop', { index: 0 }));
    const usage = { output_tokens };
    response.write(event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }));
    billed.finished = true;
    response.end(event('message_stop'));
  };

  const answer = async (response: ServerResponse, requestId: string, isStreamed: boolean): Promise<void> => {
    const dice = random();
    if (dice < 0.03) return void response.destroy();
    if (dice < 0.08) {
      response.writeHead(dice < 0.05 ? 500 : 529, { 'content-type': 'application/json' });
      const error = { type: dice < 0.05 ? 'api_error' : 'overloaded_error', message: 'no' };
      return void response.end(JSON.stringify({ type: 'error', error }));
    }
    const created = below(2) * below(500);
    const details = {
      ...(below(3) === 0 && { service_tier: 'priority' }),
      ...(created > 0 && below(2) === 0 && { input_cache_write_long: 1 + below(created) }),
      ...(below(4) === 0 && { web_search: 1 + below(3) }),
    };
    const billed: Billed = {
      request_id: requestId,
      input_tokens: 1 + below(2_000),
      cache_read_input_tokens: below(2) * below(5_000),
      cache_creation_input_tokens: created,
      output_tokens: 1 + below(60),
      finished: false,
      ...(Object.keys(details).length > 0 && { details }),
    };
    await pause();
    ledger.push(billed);
    const isBroken = dice < 0.14;
    if (isStreamed) return stream(response, billed, isBroken);
    if (isBroken) return void response.destroy();
    const { request_id: _, finished: __, details: told, ...tokens } = billed;
    const usage = { ...tokens, ...toldOf(told) };
    const content = [{ type: 'text', text: 'word '.repeat(billed.output_tokens) }];
    response.writeHead(200, { 'content-type': 'application/json' });
    billed.finished = true;
    const message = { id: 'msg_u', type: 'message', role: 'assistant', model: 'm', content, usage };
    response.end(JSON.stringify({ ...message, stop_reason: 'end_turn', stop_sequence: null }));
  };

  const mock = await serve((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const { stream: isStreamed = false } = JSON.parse(body) as { stream?: boolean };
      void answer(response, String(request.headers['x-request-id']), isStreamed);
    });
  });
  return { ...mock, ledger };
};
