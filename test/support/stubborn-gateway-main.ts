/** A whole gateway that stands by what it has said of a credential at the headers of a request: for a canary. */
import { CountedPass } from '../../src/access/leases.ts';

Object.defineProperty(CountedPass.prototype, 'dated', { get: () => false });
await import('../../src/main.ts');
