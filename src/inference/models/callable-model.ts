import type { ProjectPrincipal } from '../../access/principal.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { isLocked, isServedTo } from './model-requirements.ts';

/** Unspecified: when to ask again for a model that the operator has declared not ready. */
const notReadySeconds = 30;

/** The model of that name, if the caller may call it now (contract A.4, F.2). */
export const callableModel = (
  models: ReadonlyMap<string, ConnectedModel>,
  name: string,
  principal: ProjectPrincipal,
): ConnectedModel | Refusal => {
  const hosted = models.get(name);
  if (hosted === undefined || !isServedTo(hosted.model, principal))
    return refusal('model_not_found', { param: 'model' });
  if (!hosted.model.is_ready) {
    return refusal('model_not_ready', { headers: { 'Retry-After': `${notReadySeconds}` } });
  }
  return isLocked(hosted.model, principal.tier) ? refusal('model_locked', { param: 'model' }) : hosted;
};
