/** A whole gateway that stands by what it has said of a credential at the headers of a request: for a canary. */
import { CountedLease } from '../../src/data/access/leases.ts';

Object.defineProperty(CountedLease.prototype, 'dated', { get: () => false });
await import('../../src/main.ts');
