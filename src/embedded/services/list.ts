import { readListed } from '../codec/list-request.ts';
import { noSuchGroup } from '../grpc/refusals.ts';
import type { Handler } from '../grpc/server.ts';
import { oneRequest } from '../grpc/unary.ts';
import { parsing } from './append.ts';

export function listMethod(): Handler {
  return oneRequest((message) => {
    throw noSuchGroup(parsing(() => readListed(message)));
  });
}
