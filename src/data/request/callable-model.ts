import { type Refusal, refusal } from '../../errors.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import { isLocked } from './model-requirements.ts';
import { type Models, namedModel } from './named-model.ts';

/** Unspecified: `Retry-After` of a model that is not ready. */
const notReadySeconds = 30;

export const callableModel = (models: Models, name: string, principal: ProjectPrincipal): ConnectedModel | Refusal => {
  const hosted = namedModel(models, name, principal);
  if (hosted === undefined) return refusal('model_not_found', { param: 'model' });
  if (!hosted.model.is_ready) {
    return refusal('model_not_ready', { headers: { 'Retry-After': `${notReadySeconds}` } });
  }
  return isLocked(hosted.model, principal.tier) ? refusal('model_locked', { param: 'model' }) : hosted;
};
