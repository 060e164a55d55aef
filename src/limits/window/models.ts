import type { Millis } from '../../clock.ts';
import { nameOf, type OwnLimits } from '../own-limits.ts';
import type { WindowRecord } from '../record/record.ts';
import { follow, make, ownOf, recordOf } from './records.ts';
import type { Counted } from './ticket.ts';
import type { LimitSubject, ModelWindow, WindowStore } from './window-store.ts';

// Limits of projects, models and keys of their own (contract F.8).

/** The records that a request for a model is counted in. @param model its id; null if it is not known */
export const countedWith = (store: WindowStore, who: LimitSubject, model: string | null): Counted => {
  const key = recordOf(store, who);
  const { parent } = key;
  const ofModel = model === null || parent === null ? null : (windowOf(store, parent, model)?.record ?? null);
  if (ofModel === null) return { key, outer: parent };
  follow(store, ofModel);
  return { key, outer: ofModel };
};

/** The windows in which a project's requests for a model are counted, made if they are new; null without limits for it. */
export const acquireModel = (store: WindowStore, project: WindowRecord, model: string): WindowRecord | null => {
  const window = windowOf(store, project, model);
  if (window === null) return null;
  window.record ??= makeModel(store, project, model, window.own);
  follow(store, window.record);
  return window.record;
};

/** The windows of a model that has limits in the project. */
const windowOf = ({ models }: WindowStore, { id }: WindowRecord, model: string): ModelWindow | null => {
  const window = models.size === 0 ? undefined : models.get(id)?.get(model);
  return window === undefined || window.own === null ? null : window;
};

/** For a saved record, whose limits may have been taken away since. */
export const restoreModel = (store: WindowStore, project: WindowRecord, model: string): WindowRecord => {
  const models: Map<string, ModelWindow> = store.models.get(project.id) ?? new Map();
  const window: ModelWindow = models.get(model) ?? { own: null, record: null };
  store.models.set(project.id, models.set(model, window));
  window.record ??= makeModel(store, project, model, window.own);
  return window.record;
};

const makeModel = (store: WindowStore, project: WindowRecord, model: string, own: OwnLimits | null): WindowRecord =>
  make(store, { scope: project.kind.scope, own, isOfModel: true }, model, project);

/** Asks again for the limits of a key and those that it was rotated from or to; they hold from the next request on. */
export const retightenKey = (store: WindowStore, line: string, nowMs: Millis): void => {
  store.time.set(nowMs);
  const record = store.find(0, line);
  if (record !== undefined) tighten(store, record, ownOf(store, 0, line, record.organization.id));
};

/** The same for a project and its models. */
export const retightenProject = (store: WindowStore, project: string, nowMs: Millis): void => {
  store.time.set(nowMs);
  const record = store.find(1, project);
  if (record === undefined) return;
  const limits = store.own.ofProject(project, record.organization.id);
  tighten(store, record, limits?.whole ?? null);
  const models: Map<string, ModelWindow> = store.models.get(project) ?? new Map();
  for (const [model, window] of models) {
    window.own = limits?.models.get(model) ?? null;
    if (window.own === null && window.record === null) models.delete(model);
    else if (window.own !== null && window.record !== null) tighten(store, window.record, window.own);
  }
  for (const [model, own] of limits?.models ?? []) if (!models.has(model)) models.set(model, { own, record: null });
  if (models.size === 0) store.models.delete(project);
  else store.models.set(project, models);
};

const tighten = (store: WindowStore, record: WindowRecord, own: OwnLimits | null): void => {
  if (nameOf(record.kind.own) === nameOf(own)) return;
  follow(store, record);
  const { plan, scope, isOfModel } = record.kind;
  record.become(plan.kindOf({ scope, own, isOfModel }), store.time);
  store.changed(record);
};
