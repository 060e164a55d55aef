import type { Clock } from '../../clock.ts';
import { type Refusal, refusal } from '../../errors.ts';
import {
  type Account as AskedAccount,
  type Metered,
  type Need,
  type RateLimitLease,
  unmetered,
} from '../../http/route.ts';
import { countInactive, countRequest, start } from '../../limits/count-request.ts';
import { administrationLines } from '../../limits/http/administration-headers.ts';
import { creditLines, quotaLines } from '../../limits/http/headers.ts';
import { waitAfter, waitOfInactive } from '../../limits/http/retry-after.ts';
import { reserve } from '../../limits/reserve.ts';
import { release } from '../../limits/settle.ts';
import { isRefused, type Refused, type Ticket } from '../../limits/window/ticket.ts';
import type { LimitSubject, WindowStore } from '../../limits/window/window-store.ts';
import { Account } from '../account/account.ts';
import { isLack, type Lack } from '../account/claim.ts';
import type { Meter, Opening } from '../account/meter.ts';
import { lackRefusal } from './lack-refusal.ts';
import { limitRefusal } from './limit-refusal.ts';
import type { BearerPrincipal, Identity, ProjectPrincipal } from './principal.ts';

export interface Accounts {
  /** Why no request may be given to an upstream; undefined if it may. */
  readonly whyFull: string | undefined;
  /** Not if it may cost more than what is left. */
  begin(asked: Opening): Meter | Lack;
}

/** Contract M.5. */
const noRoom = (why: string): Refusal =>
  refusal('dependency_unavailable', {
    message: `Requests for models are not taken at the moment: ${why}.`,
    headers: { 'Retry-After': '1' },
  });

/** Counted when made; reports the windows that refused it. */
export abstract class CountedLease implements RateLimitLease<BearerPrincipal> {
  readonly principal: BearerPrincipal;
  denied: Refusal | undefined = undefined;
  protected readonly clock: Clock;
  protected readonly store: WindowStore;
  protected readonly who: LimitSubject;
  /** Bits of the limits that refused. */
  protected why = 0;

  constructor(principal: BearerPrincipal, clock: Clock, store: WindowStore, who: LimitSubject) {
    this.principal = principal;
    this.clock = clock;
    this.store = store;
    this.who = who;
  }

  get organization(): string {
    return this.principal.organizationId;
  }

  get dated(): boolean {
    const { stale, expiresAt } = this.principal;
    return stale === true || (expiresAt !== null && expiresAt <= this.clock.wall());
  }

  get limited(): boolean {
    return this.why !== 0;
  }

  refusal(need: Need): Refusal {
    const { tokens, model } = need;
    const wait = waitAfter(this.store, this.who, this.why, tokens, this.clock.monotonic(), model);
    return limitRefusal(wait, this.principal.sharesWindows);
  }

  open(_metered: Metered): Promise<AskedAccount | Refusal> {
    return Promise.resolve(unmetered);
  }
  enter(_model: string): Refusal | null {
    return null;
  }
  end(): void {}
  /** Of the credential's own windows. Unspecified: a route's group may have windows that it does not. */
  abstract lines(): string;
}

/** Holds a request in flight by its ticket. */
abstract class TicketLease extends CountedLease {
  protected ticket: Ticket | null;

  constructor(principal: BearerPrincipal, clock: Clock, store: WindowStore, who: LimitSubject) {
    super(principal, clock, store, who);
    const outcome = start(store, who, clock.monotonic());
    this.ticket = this.held(outcome);
  }

  protected held(outcome: Ticket | Refused): Ticket | null {
    if (!isRefused(outcome)) return outcome;
    this.why = outcome;
    return null;
  }

  override end(): void {
    if (this.ticket === null) return;
    release(this.store, this.ticket);
    this.ticket = null;
  }
}

/** Requests, tokens and concurrency of key, project and organization. */
export class InferenceLease extends TicketLease {
  private kept: Account | null = null;
  /** In whose windows the request is counted, too, once it has reserved (contract F.2). */
  private model: string | null = null;
  private readonly accounts: Accounts;

  constructor(principal: ProjectPrincipal, clock: Clock, store: WindowStore, who: LimitSubject, accounts: Accounts) {
    super(principal, clock, store, who);
    this.accounts = accounts;
  }

  /** None if the client has gone before the upstream was asked. */
  override async open(metered: Metered): Promise<AskedAccount | Refusal> {
    const { ticket } = this;
    if (ticket === null) return unmetered;
    const { whyFull } = this.accounts;
    if (whyFull !== undefined) {
      this.end();
      return noRoom(whyFull);
    }
    const refused = this.reserved(ticket, metered.estimatedTokens + metered.maxTokens, metered.model);
    if (refused !== null) return refused;
    const meter = this.accounts.begin(this.asked(metered));
    if (isLack(meter)) {
      this.end();
      return lackRefusal(meter);
    }
    const account = new Account(this.store, ticket, meter);
    this.kept = account;
    if (await meter.opened()) return account;
    this.end();
    return noRoom(this.accounts.whyFull ?? 'their accounts cannot be written');
  }

  override enter(model: string): Refusal | null {
    return this.ticket === null ? null : this.reserved(this.ticket, 0, model);
  }

  private reserved(ticket: Ticket, tokens: number, model: string): Refusal | null {
    const outcome = reserve(this.store, ticket, tokens, this.clock.monotonic(), model);
    this.ticket = this.held(outcome);
    this.model = model;
    return isRefused(outcome) ? this.refusal({ tokens, model }) : null;
  }

  private asked(metered: Metered): Opening {
    const { organizationId, projectId = '', id: keyId, windowsOf } = this.principal as ProjectPrincipal;
    const { requestId, model, requestedModel, api, estimatedTokens, images, searches, maxTokens, longest, cut } =
      metered;
    // Member by member: a spread costs a microsecond per request.
    return {
      requestId,
      model,
      requestedModel,
      organizationId,
      projectId,
      keyId,
      line: windowsOf || keyId,
      api,
      estimatedTokens,
      images,
      searches,
      maxTokens,
      longest,
      cut,
    };
  }

  override end(): void {
    if (this.kept === null) {
      super.end();
      return;
    }
    this.kept.end();
    this.kept = null;
    this.ticket = null;
  }

  override lines(): string {
    return quotaLines(this.store, this.who, this.clock.monotonic(), false, this.model);
  }
}

export class CreditsLease extends CountedLease {
  private readonly inference: WindowStore;
  private readonly payer: LimitSubject;

  constructor(
    principal: BearerPrincipal,
    clock: Clock,
    own: readonly [WindowStore, LimitSubject],
    inference: readonly [WindowStore, LimitSubject],
  ) {
    super(principal, clock, own[0], own[1]);
    this.inference = inference[0];
    this.payer = inference[1];
    this.why = countRequest(this.store, this.who, clock.monotonic());
  }

  override lines(): string {
    return creditLines(this.store, this.who, this.inference, this.payer, this.clock.monotonic());
  }
}

/** Its project and organization are neither counted nor reported (contract F.3, F.5). */
export class InactiveLease extends CountedLease {
  private readonly tell: (why: number) => string;

  /** @param tell the header lines of the key's windows, if a limit in `why` has refused */
  constructor(
    found: Identity,
    refused: Refusal,
    clock: Clock,
    [store, who]: readonly [WindowStore, LimitSubject],
    tell: (why: number) => string,
  ) {
    // Denied requests get no further, so nobody acts for it.
    super(found as BearerPrincipal, clock, store, who);
    this.why = countInactive(store, who, clock.monotonic());
    this.denied = refused;
    this.tell = tell;
  }

  override refusal(): Refusal {
    return limitRefusal(waitOfInactive(this.store, this.who, this.why, this.clock.monotonic()));
  }

  override lines(): string {
    return this.tell(this.why);
  }
}

export class AdministrationLease extends TicketLease {
  override lines(): string {
    return administrationLines(this.store, this.who, this.why, this.clock.monotonic(), this.clock.wall());
  }
}
