import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { origins, question, reply } from './pipelines.ts';

/** Where and how honest clients ask. */
export interface Front {
  readonly port: number;
  /** The certificate of the authority, in PEM; undefined without TLS. */
  readonly ca: string | undefined;
}

export interface Heard {
  /** 0 where the connection was lost before the head of an answer. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly isWhole: boolean;
  /** The connection had served another request before: it may have been ended as this one was sent. */
  readonly isReused: boolean;
  readonly ms: number;
}

export interface Question {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks once; a lost connection is told as an answer that is not whole. */
export const ask = (
  { port, ca }: Front,
  { method = 'GET', path, headers = {}, body }: Question,
  agent?: Agent,
): Promise<Heard> =>
  new Promise((resolve) => {
    const began = performance.now();
    let heard: Pick<Heard, 'status' | 'headers'> = { status: 0, headers: {} };
    const pieces: Buffer[] = [];
    const options: RequestOptions & { ca?: string } = {
      ...{ port, host: '127.0.0.1', method, path, agent: agent ?? false, headers },
      ...(ca !== undefined && { ca }),
    };
    const sent = ca === undefined ? request(options) : requestTls(options);
    const over = (isWhole: boolean) => () =>
      resolve({
        ...heard,
        text: Buffer.concat(pieces).toString(),
        isWhole,
        isReused: sent.reusedSocket,
        ms: performance.now() - began,
      });
    sent.on('error', over(false));
    sent.on('response', (response) => {
      heard = { status: response.statusCode ?? 0, headers: response.headers };
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', over(true));
      response.on('error', over(false));
      response.on('close', over(false));
    });
    sent.end(body);
  });

export const agentOf = ({ ca }: Front): Agent => {
  const options = { keepAlive: true, maxSockets: 1 };
  return ca === undefined ? new Agent(options) : (new TlsAgent({ ...options, ca }) as unknown as Agent);
};

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

export const askModel = (front: Front, key: string, n: number, isStream: boolean, agent?: Agent): Promise<Heard> => {
  const body = question(n, isStream);
  const headers = {
    ...bearer(key),
    'content-type': 'application/json',
    'content-length': `${Buffer.byteLength(body)}`,
  };
  return ask(front, { method: 'POST', path: '/v1/messages', headers, body }, agent);
};

/** What an honest client asks for, and whether an answer is its own. */
interface Errand {
  readonly name: string;
  readonly question: Question;
  readonly status: number;
  readonly isOwn: (text: string) => boolean;
}

const clients = origins('clients');

/** Whom honest clients name, and what they know. */
export interface Known {
  readonly projectKey: string;
  readonly adminKey: string;
  readonly projectId: string;
  readonly document: string;
}

const errands = ({ projectKey, adminKey, projectId, document }: Known, n: number): readonly Errand[] => {
  const body = question(n, n % 2 === 0);
  const headers = { ...bearer(projectKey), 'content-type': 'application/json', 'content-length': `${body.length}` };
  return [
    {
      name: 'a question to a model',
      question: { method: 'POST', path: '/v1/messages', headers, body },
      status: 200,
      isOwn: (text) => text.includes(reply(n)),
    },
    {
      name: 'the document',
      question: { path: '/v1/openapi.json' },
      status: 200,
      isOwn: (text) => text === document,
    },
    {
      name: 'a project',
      question: { path: `/v1/organization/projects/${projectId}`, headers: bearer(adminKey) },
      status: 200,
      isOwn: (text) => text.includes(projectId),
    },
    {
      name: 'the models',
      question: { path: '/v1/models', headers: bearer(projectKey) },
      status: 200,
      isOwn: (text) => text.includes('"echo"'),
    },
    {
      name: 'an unknown path',
      question: { path: `/v1/nothing-${n}` },
      status: 404,
      isOwn: (text) => text.includes('route_not_found'),
    },
  ];
};

/** Asks for something, and says what is wrong with the answer. */
export const runErrand = async (
  front: Front,
  known: Known,
  n: number,
  agent: Agent,
): Promise<{ readonly heard: Heard; readonly fault: string | undefined }> => {
  const all = errands(known, n);
  const { name, question: asked, status, isOwn } = all[n % all.length]!;
  const origin = clients[n % clients.length]!;
  const heard = await ask(front, { ...asked, headers: { ...asked.headers, origin } }, agent);
  const named = heard.headers['access-control-allow-origin'];
  if (heard.status !== 0 && named !== origin)
    return { heard, fault: `${name} of ${origin} was answered for ${named} by ${heard.status}` };
  if (!heard.isWhole) return { heard, fault: `${name} was cut off after status ${heard.status}` };
  const isSound = heard.status === status && isOwn(heard.text);
  return {
    heard,
    fault: isSound ? undefined : `${name} ${n} was answered ${heard.status} ${heard.text.slice(0, 200)}`,
  };
};
