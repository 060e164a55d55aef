import { randomUUID } from 'node:crypto';
import type { Weir } from './weir.ts';

/** Asks the gateway as an administrator: a POST where there is a body. @throws Error for any status but 2xx */
export const administer = async <Answer>(weir: Weir, key: string, path: string, body?: object): Promise<Answer> => {
  const { host, port } = weir.address;
  const response = await fetch(`http://${host}:${port}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = (await response.json()) as Answer;
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
};
