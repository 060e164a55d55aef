import type { Head } from '../route.ts';
import type { HttpRequest, HttpResponse } from '../uws.ts';
import type { AddressOf } from './client-address.ts';

let collecting: string[] = [];
const collect = (name: string, value: string): void => {
  collecting.push(name, value);
};

/** IPv4 in dots, IPv6 in full groups. */
const peer = (response: HttpResponse): string => Buffer.from(response.getRemoteAddressAsText()).toString('latin1');

/**
 * Copies a request out of uWebSockets' memory: its request is invalid after the native callback, its response after
 * the answer. The address costs 3 µs, so it is read on first use, or by `keep`.
 */
export class RequestHead implements Head {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Lower-case names and values, in turn. */
  readonly fields: readonly string[];
  private address: string | undefined;
  private response: HttpResponse | undefined;
  private readonly addressOf: AddressOf;

  /** Reads the headers; the caller may know the request line. */
  constructor(
    requestId: string,
    method: string,
    path: string,
    query: string,
    request: HttpRequest,
    response: HttpResponse,
    addressOf: AddressOf,
  ) {
    this.requestId = requestId;
    this.method = method;
    this.path = path;
    this.query = query;
    const fields: string[] = [];
    collecting = fields;
    request.forEach(collect);
    this.fields = fields;
    this.response = response;
    this.addressOf = addressOf;
  }

  get ip(): string {
    if (this.address === undefined) this.keep();
    return this.address ?? '';
  }

  keep(): void {
    if (this.response === undefined) return;
    this.address ??= this.addressOf(peer(this.response), this.fields);
    this.response = undefined;
  }

  /** uWebSockets' response is about to become invalid. */
  forget(): void {
    this.response = undefined;
  }

  header(name: string, isList = false): string | undefined {
    const fields = this.fields;
    let found: string | undefined;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] !== name) continue;
      found = found === undefined ? fields[i + 1]! : `${found},${fields[i + 1]}`;
      if (!isList) return found;
    }
    return found;
  }
}
