import type { Endpoint } from '../../http/routing/endpoint.ts';
import { timeOfId } from '../../ids.ts';

const hidden = 'REDACTED';

/**
 * Parameters other than own ids and declared models may be keys or prompts and are hidden, and so is the whole path of
 * an unknown route.
 */
export const shownPath = (
  path: string,
  target: Pick<Endpoint, 'path'> | undefined,
  isModel: (text: string) => boolean,
): string => {
  if (target === undefined) return `/${hidden}`;
  const shown = (text: string): string => (timeOfId(text) !== null || isModel(text) ? text : hidden);
  const sent = path.split('/');
  const steps = target.path.split('/');
  return steps
    .map((step, at) => {
      if (!step.startsWith('{')) return step;
      return shown(step.endsWith('*}') ? sent.slice(at).join('/') : (sent[at] ?? ''));
    })
    .join('/');
};
