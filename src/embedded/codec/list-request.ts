import { readStreamName } from './append-request.ts';
import { WireReader } from './wire.ts';

/** Reads ListReq. @returns the stream, `$all`, or '' for all streams */
export function readListed(message: Buffer): string {
  let stream = '';
  const outer = new WireReader(message);
  for (let field = outer.field(); field !== 0; field = outer.field()) {
    if (field === 1) stream = readOptions(outer.message());
    else outer.skip();
  }
  return stream;
}

function readOptions(options: WireReader): string {
  let stream = '';
  for (let field = options.field(); field !== 0; field = options.field()) {
    if (field === 2) {
      const asked = options.message();
      for (let part = asked.field(); part !== 0; part = asked.field()) {
        if (part === 1) stream = readStreamName(asked.message()).toString('utf8');
        else {
          if (part === 2) stream = '$all';
          asked.skip();
        }
      }
    } else options.skip();
  }
  return stream;
}
