import type { Head } from '../route.ts';
import type { HttpRequest, HttpResponse } from '../uws.ts';
import type { AddressOf } from './client-address.ts';

let collecting: string[] = [];
const collect = (name: string, value: string): void => {
  collecting.push(name, value);
};

/** The socket's peer as text; uWebSockets writes IPv4 in dots and IPv6 in full groups. */
const peer = (response: HttpResponse): string => Buffer.from(response.getRemoteAddressAsText()).toString('latin1');

/**
 * Copies a request out of the core's memory. The core's request object is dead once the native callback returns, its
 * response object once the answer is complete, so the address, which costs 3 µs, is read on first use, or by `keep` where
 * it may be wanted after the answer.
 */
export class RequestHead implements Head {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** The raw query, without its question mark. */
  readonly query: string;
  /** Names in lower case and values, in turn. */
  readonly fields: readonly string[];
  private address: string | undefined;
  private response: HttpResponse | undefined;
  private readonly addressOf: AddressOf;

  /** Reads the header lines; the rest of the request line is read by the caller, who may know it already. */
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

  /** Reads what is left to read; from here on the head stands on its own. */
  keep(): void {
    if (this.response === undefined) return;
    this.address ??= this.addressOf(peer(this.response), this.fields);
    this.response = undefined;
  }

  /** The core's response is about to become invalid. */
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
