import { fillToHalf } from './half-full.ts';
import { dayTokensField, kindShift, planShift, unitsField } from './kinds.ts';
import {
  dayWord,
  inFlightHalf,
  kindWord,
  logWord,
  newestWord,
  organizationWord,
  parentWord,
  requestsWord,
  secondWord,
  slotWord,
  tokensWord,
} from './layout.ts';
import { changed, kindOf, scopeOf } from './record.ts';
import type { Owner, WindowStore } from './window-store.ts';

/** Makes the records of a credential that are not there, and renews its handle. Seen once a day and credential. */
export const acquire = (store: WindowStore, owner: Owner): void => {
  const organization = acquireOuter(store, store.top, owner.organization, '');
  let parent = organization;
  if (store.top === 2) {
    if (owner.project === null) throw new TypeError('A key is counted with its project.');
    parent = acquireOuter(store, 1, owner.project, owner.organization);
  }
  const key =
    store.slots.find(0, owner.key) ?? create(store, 0, owner.key, planIn(store, organization), parent, organization);
  owner.handle = store.slots.handleOf(key);
};

/** The slot of a project (with its organization's) or of an organization, made where it is not there. */
export const acquireOuter = (store: WindowStore, scope: number, id: string, organization: string): number => {
  const found = store.slots.find(scope, id);
  if (found !== undefined) return found;
  if (scope === store.top) return create(store, scope, id, store.kinds.planOf(store.tierOf(id)), -1, -1);
  const parent = acquireOuter(store, store.top, organization, '');
  return create(store, scope, id, planIn(store, parent), parent, parent);
};

const planIn = (store: WindowStore, organization: number): number =>
  kindOf(store, store.slots.address(organization)) >> planShift;

const create = (
  store: WindowStore,
  scope: number,
  id: string,
  plan: number,
  parent: number,
  organization: number,
): number => {
  const kind = (plan << planShift) + scope;
  const address = store.slab.take(store.kinds.words[(kind << kindShift) + unitsField]!);
  const slot = store.slots.take(scope, id, address);
  const i32 = store.slab.i32;
  store.slab.u16[(address + kindWord) << 1] = kind;
  i32[address + newestWord] = store.ms;
  i32[address + secondWord] = store.second;
  i32[address + dayWord] = store.tenMinutes;
  // A key names its project here; projects and organizations count who names them.
  i32[address + parentWord] = scope === 0 ? (store.top === 2 ? parent : -1) : 0;
  i32[address + organizationWord] = organization;
  i32[address + slotWord] = slot;
  if (parent >= 0) addChild(store, parent, 1);
  fillToHalf(store, address);
  // The journal names keys by their slots, and this one's id is in no snapshot yet: what it counts for is told by records.
  changed(store, address);
  if (parent >= 0) changed(store, store.slots.address(parent));
  if (organization >= 0) changed(store, store.slots.address(organization));
  return slot;
};

const addChild = (store: WindowStore, parent: number, by: 1 | -1): void => {
  const address = store.slots.address(parent);
  const at = address + parentWord;
  store.slab.i32[at] = store.slab.i32[at]! + by;
};

/**
 * Frees the record of a slot when there is nothing in it: no attempt or token of the last day, no request in flight, no
 * record that names it. Such a record is equal to a new one, so nothing is forgiven. It must have been advanced.
 * @returns whether it was freed
 */
export const freeIfEmpty = (store: WindowStore, slot: number): boolean => {
  const address = store.slots.address(slot);
  const i32 = store.slab.i32;
  const kind = kindOf(store, address);
  const scope = scopeOf(kind);
  if (store.slab.u16[(address << 1) + inFlightHalf] !== 0 || i32[address + requestsWord] !== 0) return false;
  if (store.slab.u16[((address + logWord) << 1) + 1] !== 0) return false;
  const f64 = store.slab.f64;
  if (f64[(address + tokensWord) >> 1] !== 0) return false;
  const dayTokens = store.kinds.words[(kind << kindShift) + dayTokensField]!;
  if (dayTokens !== 0 && f64[(address + dayTokens) >> 1] !== 0) return false;
  if (scope > 0 && i32[address + parentWord] !== 0) return false;
  const organization = i32[address + organizationWord]!;
  const parent = scope === 0 && store.top === 2 ? i32[address + parentWord]! : organization;
  if (parent >= 0) addChild(store, parent, -1);
  store.slab.give(address, store.kinds.words[(kind << kindShift) + unitsField]!);
  store.slots.release(scope, slot);
  return true;
};
