import type { HttpResponse } from '../../src/http/uws.ts';
import { listenAlone, loadUws } from '../../src/http/uws.ts';
import { errorBody, type Asked as Named, type Speech, speeches } from './answers.ts';
import { type Behaviour, type Fate, fatesOf } from './behaviour.ts';
import { type Entry, Ledger, type Totals } from './ledger.ts';

export interface SimOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly behaviour: Behaviour;
  /** Takes each request when it has ended. */
  readonly write?: (entry: Entry) => void;
}

export interface Sim {
  readonly port: number;
  readonly totals: () => Totals;
  close(): void;
}

interface Asked extends Named {
  readonly stream: boolean;
  readonly maxTokens: number;
}

const bytesPerToken = 4;

const parse = (body: Buffer, id: number): Asked | null => {
  try {
    const { model, stream, ...limits } = JSON.parse(body.toString()) as Record<string, unknown>;
    const max_tokens = limits.max_tokens ?? limits.max_completion_tokens ?? limits.max_output_tokens;
    if (typeof model !== 'string' || typeof max_tokens !== 'number') return null;
    return {
      id,
      model,
      stream: stream === true,
      maxTokens: max_tokens,
      inputTokens: Math.ceil(body.length / bytesPerToken),
    };
  } catch {
    return null;
  }
};

/** One answer under way; every write asks first whether the client is still there. */
class Reply {
  gone = false;
  sent = 0;
  readonly #response: HttpResponse;

  constructor(response: HttpResponse, onGone: () => void) {
    this.#response = response;
    response.onAborted(() => {
      this.gone = true;
      onGone();
    });
  }

  whole(status: string, body: string): void {
    this.#cork((response) => response.writeStatus(status).writeHeader('Content-Type', 'application/json').end(body));
  }

  beginStream(text: string): void {
    this.#cork((response) =>
      response.writeStatus('200 OK').writeHeader('Content-Type', 'text/event-stream').write(text),
    );
  }

  more(text: string): void {
    this.#cork((response) => response.write(text));
  }

  endStream(): void {
    this.#cork((response) => response.end());
  }

  cut(): void {
    if (!this.gone) this.#response.close();
  }

  #cork(act: (response: HttpResponse) => unknown): void {
    if (!this.gone) this.#response.cork(() => void act(this.#response));
  }
}

const after = (ms: number, act: () => void): void => {
  if (ms <= 0) act();
  else setTimeout(act, ms);
};

/** A hosted model that is none: answers requests of the three APIs by its behaviour and keeps a ledger at `GET /ledger`. */
export const startSim = async ({ host, port, behaviour, write }: SimOptions): Promise<Sim> => {
  const uws = await loadUws();
  const ledger = new Ledger(write);
  const fate = fatesOf(behaviour);
  let ids = 0;

  const stream = (reply: Reply, speech: Speech, asked: Asked, { is, tokens, tokenAt }: Fate, end: () => void): void => {
    const began = performance.now();
    // Where a stream breaks off, it does so in its middle.
    const last = is === 'abort' ? Math.ceil(tokens / 2) : tokens;
    let begun = false;
    const step = (): void => {
      if (reply.gone) return;
      const elapsed = performance.now() - began;
      let text = begun ? '' : speech.head(asked);
      while (reply.sent < last && tokenAt[reply.sent]! <= elapsed) text += speech.token(asked, reply.sent++);
      const isOver = reply.sent === last;
      if (isOver && is === 'answer') text += speech.tail(asked, tokens);
      if (begun) reply.more(text);
      else reply.beginStream(text);
      begun = true;
      if (!isOver) {
        setTimeout(step, Math.max(0, tokenAt[reply.sent]! - (performance.now() - began)));
        return;
      }
      // Written down first: cutting it looks like a client that has left.
      end();
      if (is === 'abort') reply.cut();
      else reply.endStream();
    };
    after(tokenAt[0]!, step);
  };

  const serve = (response: HttpResponse, speech: Speech, requestId: string, body: Buffer): void => {
    const asked = parse(body, ids + 1);
    if (asked === null) {
      response.cork(() =>
        response.writeStatus('400 Bad Request').end(errorBody('invalid_request_error', 'no message')),
      );
      return;
    }
    const its = fate(asked.maxTokens);
    const finish = ledger.begin(asked.stream, asked.inputTokens, requestId);
    let isOver = false;
    const end = (ending: Parameters<typeof finish>[0], tokens: number): void => {
      if (isOver) return;
      isOver = true;
      finish(ending, tokens);
    };
    const reply: Reply = new Reply(response, () => end('abandoned', reply.sent));
    ids += 1;
    if (its.is === 'error') {
      after(its.tokenAt[0]!, () => {
        reply.whole('529 Overloaded', errorBody('overloaded_error', 'Overloaded'));
        end('errors', 0);
      });
    } else if (asked.stream) {
      stream(reply, speech, asked, its, () => end(its.is === 'abort' ? 'aborts' : 'answered', reply.sent));
    } else {
      after(its.tokenAt.at(-1)!, () => {
        end(its.is === 'abort' ? 'aborts' : 'answered', its.is === 'abort' ? 0 : its.tokens);
        if (its.is === 'abort') reply.cut();
        else reply.whole('200 OK', speech.whole(asked, its.tokens));
      });
    }
  };

  const app = uws.App();
  for (const [path, speech] of Object.entries(speeches)) {
    app.post(path, (response, request) => {
      const requestId = request.getHeader('x-request-id');
      const pieces: Buffer[] = [];
      response.onAborted(() => {});
      response.onData((piece, isLast) => {
        pieces.push(Buffer.from(new Uint8Array(piece)));
        if (isLast) serve(response, speech, requestId, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
      });
    });
  }
  app.get('/ledger', (response) => {
    response.writeHeader('Content-Type', 'application/json').end(JSON.stringify(ledger.totals));
  });
  app.any('/*', (response) => {
    response
      .writeStatus('404 Not Found')
      .end(errorBody('not_found_error', `POST ${Object.keys(speeches).join(', ')} and GET /ledger`));
  });
  const socket = await listenAlone(uws, app, host, port);
  if (!socket) throw new Error(`The simulated model cannot listen on ${host}:${port}: is the port taken?`);
  return { port: uws.us_socket_local_port(socket), totals: () => ledger.totals, close: () => void app.close() };
};
