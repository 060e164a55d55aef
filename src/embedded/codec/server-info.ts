import { uuidMessage } from './uuid.ts';
import { bytesField, messageField, varintField } from './write.ts';

export interface SupportedMethod {
  readonly service: string;
  readonly method: string;
  readonly features: readonly string[];
}

/** The client compares names in lower case. */
export function encodeSupportedMethods(version: string, methods: readonly SupportedMethod[]): Buffer {
  return Buffer.concat([
    ...methods.map(({ service, method, features }) =>
      messageField(1, bytesField(1, method), bytesField(2, service), ...features.map((name) => bytesField(3, name))),
    ),
    bytesField(2, version),
  ]);
}

const LEADER = 8;

/** ClusterInfo with one leading member. `now` in milliseconds. */
export function encodeSingleMember(instance: string, address: string, port: number, now: number): Buffer {
  return messageField(
    1,
    bytesField(1, uuidMessage('string', instance)),
    varintField(2, BigInt(now) * 10_000n),
    varintField(3, LEADER),
    varintField(4, 1),
    messageField(5, bytesField(1, address), varintField(2, port)),
  );
}
