import { acquire } from './acquire.ts';
import { planShift } from './kinds.ts';
import { organizationWord, parentWord } from './layout.ts';
import { moveTo } from './move.ts';
import { kindOf } from './record.ts';
import type { LimitSubject, WindowStore } from './window-store.ts';

/**
 * Finds the three records of a credential and leaves them in the store's fields; makes or moves them where it must.
 * A tier that has changed reaches a key's record here, when it is next used (limits.md 1.10).
 */
export const resolve = (store: WindowStore, who: LimitSubject): void => {
  if (who.epoch !== store.slots.epoch) renew(store, who);
  store.keyAt = who.keyAt;
  store.projectAt = who.projectAt;
  store.organizationAt = who.organizationAt;
};

/** Looks the addresses up; kept beside the credential, they spare each request four of its thirteen cache misses. */
const renew = (store: WindowStore, who: LimitSubject): void => {
  const { slots } = store;
  const { owner } = who;
  if (slots.slotOf(owner.handle) < 0) acquire(store, owner);
  const key = slots.slotOf(owner.handle);
  who.tag = slots.tagOf(key);
  store.keyAt = slots.address(key);
  const project = store.slab.i32[store.keyAt + parentWord]!;
  store.projectAt = project < 0 ? -1 : slots.address(project);
  store.organizationAt = slots.address(store.slab.i32[store.keyAt + organizationWord]!);
  followPlan(store);
  who.keyAt = store.keyAt;
  who.projectAt = store.projectAt;
  who.organizationAt = store.organizationAt;
  who.epoch = slots.epoch;
};

/** Moves those of the three found records that are not of the organization's plan in force. */
export const followPlan = (store: WindowStore): void => {
  const plan = kindOf(store, store.organizationAt) >> planShift;
  if (
    kindOf(store, store.keyAt) >> planShift === plan &&
    (store.projectAt < 0 || kindOf(store, store.projectAt) >> planShift === plan) &&
    store.kinds.successor[plan] === plan
  ) {
    return;
  }
  const inForce = store.kinds.successor[plan]!;
  store.organizationAt = moveTo(store, store.organizationAt, inForce);
  if (store.projectAt >= 0) store.projectAt = moveTo(store, store.projectAt, inForce);
  store.keyAt = moveTo(store, store.keyAt, inForce);
};
