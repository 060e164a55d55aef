/** Validation of records: they have no chart that would refuse them, and others may write to the store (contract K.3). */

type Data = Readonly<Record<string, unknown>>;

const longest = 100;

export const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= longest;
const isTable = ({ rows }: Data): boolean => Array.isArray(rows) && rows.every(Array.isArray);

const isDecision = (value: unknown): boolean =>
  isObject(value) &&
  [value.id, value.organization_id, value.policy_id, value.request_id, value.project_id, value.key_id].every(isText) &&
  isText(value.direction) &&
  isText(value.verdict) &&
  Number.isFinite(value.version) &&
  Number.isFinite(value.decided_at);

const forms: Readonly<Record<string, (data: Data) => boolean>> = {
  'credential.used': ({ used }) =>
    isObject(used) && Object.entries(used).every(([id, seconds]) => isText(id) && Number.isFinite(seconds)),
  'access.denied': ({ credential_id, credential_type, code, count, first_at, last_at }) =>
    [credential_id, credential_type, code].every(isText) && [count, first_at, last_at].every(Number.isFinite),
  'policies.decided': ({ decisions }) => Array.isArray(decisions) && decisions.every(isDecision),
  'usage.settled': (data) => isTable(data) && Array.isArray(data.fields),
  'usage.totalled': isTable,
};

export const isRecord = (type: string, data: unknown): boolean => {
  const form = forms[type];
  return form === undefined || (isObject(data) && form(data));
};
