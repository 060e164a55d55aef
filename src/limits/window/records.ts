import type { Millis } from '../../clock.ts';
import type { OwnLimits } from '../own-limits.ts';
import type { Whose } from '../record/kind.ts';
import { WindowRecord } from '../record/record.ts';
import { fillToHalf } from './half-full.ts';
import type { LimitSubject, WindowStore } from './window-store.ts';

/** The key's record, and by `parent` its outer ones, made if needed, with the present limits. */
export const recordOf = (store: WindowStore, who: LimitSubject): WindowRecord => {
  let key = who.record;
  if (key === null || key.freed) {
    key = acquire(store, who);
    who.record = key;
  }
  follow(store, key);
  return key;
};

/** Applies the organization's limits to a record and its outer ones. */
export const follow = (store: WindowStore, inner: WindowRecord): void => {
  const plan = store.plans.of(inner.organization.kind.plan.tier);
  for (let record: WindowRecord | null = inner; record !== null; record = record.parent) {
    if (record.kind.plan === plan) continue;
    record.become(plan.kindOf(record.kind), store.time);
    store.changed(record);
  }
};

export const acquire = (store: WindowStore, { key, project, organization }: LimitSubject): WindowRecord => {
  const found = store.find(0, key);
  if (found !== undefined) return found;
  if (store.top === 1) return create(store, 0, key, acquireOuter(store, 1, organization, ''));
  if (project === null) throw new TypeError('A key is counted with its project.');
  return create(store, 0, key, acquireOuter(store, 1, project, organization));
};

/** Applies an organization's present tier; call it after each change. Its projects and keys follow at their next use. */
export const retier = (store: WindowStore, organization: string, nowMs: Millis): void => {
  store.time.set(nowMs);
  const record = store.find(store.top, organization);
  const plan = store.plans.of(store.tierOf(organization));
  if (record === undefined || record.kind.plan === plan) return;
  record.become(plan.kinds[store.top]!, store.time);
  store.changed(record);
};

/** Finds or makes the record of a project or an organization. */
export const acquireOuter = (store: WindowStore, scope: number, id: string, organization: string): WindowRecord =>
  store.find(scope, id) ??
  create(store, scope, id, scope === store.top ? null : acquireOuter(store, store.top, organization, ''));

const create = (store: WindowStore, scope: number, id: string, parent: WindowRecord | null): WindowRecord => {
  const own = parent === null ? null : ownOf(store, scope, id, parent.organization.id);
  const record = make(store, { scope, own, isOfModel: false }, id, parent);
  store.records[scope]!.set(id, record);
  const models = scope === 1 && parent !== null ? store.own.ofProject(id, parent.id)?.models : undefined;
  if (models !== undefined && models.size > 0) {
    store.models.set(id, new Map(Array.from(models, ([model, each]) => [model, { own: each, record: null }])));
  }
  return record;
};

/** The limits of a key's or a project's own. */
export const ownOf = (store: WindowStore, scope: number, id: string, organization: string): OwnLimits | null => {
  if (scope === 0) return store.own.ofKey(id);
  return scope < store.top ? (store.own.ofProject(id, organization)?.whole ?? null) : null;
};

/** Makes a record without a name in the store. */
export const make = (store: WindowStore, whose: Whose, id: string, parent: WindowRecord | null): WindowRecord => {
  const plan = parent === null ? store.plans.of(store.tierOf(id)) : parent.organization.kind.plan;
  const record = new WindowRecord(plan.kindOf(whose), id, store.made++, parent, store.time);
  if (parent !== null) parent.children++;
  fillToHalf(store, record);
  // No snapshot has the numbers of new records, so they are saved whole.
  for (let each: WindowRecord | null = record; each !== null; each = each.parent) store.changed(each);
  return record;
};

/** Frees an empty record, which must have been advanced. @returns whether it was freed */
export const freeIfEmpty = (store: WindowStore, record: WindowRecord): boolean => {
  if (!record.isEmpty) return false;
  const { scope, isOfModel } = record.kind;
  if (isOfModel) forgetModel(store, record);
  else store.records[scope]!.delete(record.id);
  if (scope === 1 && !isOfModel) store.models.delete(record.id);
  store.unsaved.delete(record);
  if (record.parent !== null) record.parent.children--;
  record.free();
  return true;
};

const forgetModel = ({ models }: WindowStore, { id, parent }: WindowRecord): void => {
  const ofProject = models.get(parent!.id);
  const window = ofProject?.get(id);
  if (window === undefined) return;
  window.record = null;
  if (window.own === null) ofProject!.delete(id);
};
