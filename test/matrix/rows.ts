import type { Tenant } from './stage.ts';

export type Ids = Readonly<Record<string, string>>;

/** What a request to a route needs so that nothing is wrong with it. */
export interface Row {
  /** Values of the path's parameters that are there, or are made here. */
  readonly ids?: (tenant: Tenant) => Promise<Ids> | Ids;
  readonly query?: string;
  readonly body?: object;
  readonly idempotent?: true;
  /** What such a request is answered. */
  readonly status: number;
  /** An id of the list that the route shows: one that is a cursor there. */
  readonly cursor?: (tenant: Tenant) => Promise<string> | string;
}

const project = ({ projectId }: Tenant): Ids => ({ project_id: projectId });
const newProject = async (tenant: Tenant): Promise<Ids> => ({ project_id: await tenant.newProject() });
const limitedProject = async (tenant: Tenant): Promise<Ids> => {
  const project_id = await tenant.newProject();
  await tenant.limitSpend(project_id);
  return { project_id };
};
const projectKey = async (tenant: Tenant): Promise<Ids> => ({
  project_id: tenant.projectId,
  api_key_id: (await tenant.newKey()).id,
});
const suspendedKey = async (tenant: Tenant): Promise<Ids> => ({
  project_id: tenant.projectId,
  api_key_id: await tenant.newSuspendedKey(),
});
const adminKey = async (tenant: Tenant): Promise<Ids> => ({ api_key_id: await tenant.newAdminKey() });
const policy =
  (state: 'draft' | 'live' | 'paused') =>
  async (tenant: Tenant): Promise<Ids> => ({ policy_id: await tenant.newPolicy(state) });

const noResponse = () => ({ response_id: 'resp_none' });

const name = { name: 'n' };
const spendLimit = { currency: 'USD', interval: 'month', threshold_amount: 1_000_000 };

/** Sets the limit of a project, or of the organization. @param send of a path below the organization's */
export const limitSpend = async (
  send: (method: string, path: string, body: object) => Promise<unknown>,
  project?: string,
): Promise<Ids> => {
  await send('POST', `${project === undefined ? '' : `/projects/${project}`}/spend_limit`, spendLimit);
  return {};
};
export const message = { model: 'weir-sim-1', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

/** Nothing is decided yet, so no decision of anybody's is a cursor. */
export const noCursor = 'poldec_none';

/** By operation. */
export const rows: Readonly<Record<string, Row>> = {
  createMessage: { body: message, status: 200 },
  countMessageTokens: { body: message, status: 200 },
  createChatCompletion: { body: message, status: 200 },
  createResponse: { body: { model: 'weir-sim-1', max_output_tokens: 5, input: 'hi' }, status: 200 },
  createEmbedding: { body: { model: 'embeddings', input: 'hi' }, status: 200 },
  connectResponses: { status: 405 },
  retrieveResponse: { ids: noResponse, status: 404 },
  deleteResponse: { ids: noResponse, status: 404 },
  cancelResponse: { ids: noResponse, status: 404 },
  listModels: { status: 200 },
  retrieveModel: { ids: async () => ({ model: 'weir-sim-1' }), status: 200 },
  retrieveCredits: { status: 200 },
  retrieveCallingKey: { status: 200 },
  retrieveOrganization: { status: 200 },
  listProjects: { status: 200, cursor: ({ projectId }) => projectId },
  createProject: { body: name, status: 201 },
  retrieveProject: { ids: project, status: 200 },
  updateProject: { ids: newProject, body: name, status: 200 },
  retrieveProjectModelPermissions: { ids: project, status: 200 },
  updateProjectModelPermissions: { ids: newProject, body: { mode: 'deny_list', model_ids: ['m'] }, status: 200 },
  deleteProjectModelPermissions: { ids: newProject, status: 200 },
  listProjectRateLimits: { ids: project, status: 200, cursor: () => noCursor },
  updateProjectRateLimit: {
    ids: async (tenant) => ({ ...(await newProject(tenant)), rate_limit_id: 'rl-*' }),
    body: { max_requests_per_1_minute: 5 },
    status: 200,
  },
  retrieveOrganizationSpendLimit: { ids: (tenant) => tenant.limitSpend(), status: 200 },
  updateOrganizationSpendLimit: { body: spendLimit, status: 200 },
  deleteOrganizationSpendLimit: { ids: (tenant) => tenant.limitSpend(), status: 200 },
  retrieveProjectSpendLimit: { ids: limitedProject, status: 200 },
  updateProjectSpendLimit: { ids: newProject, body: spendLimit, status: 200 },
  deleteProjectSpendLimit: { ids: limitedProject, status: 200 },
  retrieveProjectSpend: { ids: project, status: 200 },
  archiveProject: { ids: newProject, status: 200 },
  createProjectApiKey: { ids: project, body: name, idempotent: true, status: 201 },
  listProjectApiKeys: { ids: project, status: 200, cursor: (tenant) => tenant.projectKey.id },
  retrieveProjectApiKey: { ids: projectKey, status: 200 },
  updateProjectApiKey: { ids: projectKey, body: name, status: 200 },
  rotateProjectApiKey: { ids: projectKey, body: { grace_seconds: 60 }, idempotent: true, status: 201 },
  suspendProjectApiKey: { ids: projectKey, status: 200 },
  reactivateProjectApiKey: { ids: suspendedKey, status: 200 },
  retrieveProjectApiKeyLimits: { ids: projectKey, status: 200 },
  revokeProjectApiKey: { ids: projectKey, status: 200 },
  createAdminApiKey: { body: name, idempotent: true, status: 201 },
  listAdminApiKeys: { status: 200, cursor: (tenant) => tenant.adminKey.id },
  retrieveAdminApiKey: { ids: adminKey, status: 200 },
  deleteAdminApiKey: { ids: adminKey, status: 200 },
  listPolicies: { status: 200, cursor: ({ policyId }) => policyId },
  createPolicy: { body: { ...name, rule: 'true' }, status: 201 },
  validatePolicyRule: { body: { rule: 'true', direction: 'request' }, status: 200 },
  retrievePolicy: { ids: policy('live'), status: 200 },
  updatePolicy: { ids: policy('live'), body: { revision: 2, ...name }, status: 200 },
  publishPolicy: { ids: policy('draft'), body: { revision: 1 }, status: 200 },
  pausePolicy: { ids: policy('live'), body: { revision: 2 }, status: 200 },
  resumePolicy: { ids: policy('paused'), body: { revision: 3 }, status: 200 },
  deletePolicy: { ids: policy('draft'), query: 'revision=1', status: 200 },
  listPolicyVersions: {
    ids: ({ policyId }) => ({ policy_id: policyId }),
    status: 200,
    cursor: (tenant) => tenant.firstOf(`/policies/${tenant.policyId}/versions`),
  },
  replayPolicy: { ids: policy('draft'), body: {}, status: 200 },
  listPolicyDecisions: { ids: policy('live'), status: 200, cursor: () => noCursor },
  listUsage: { query: 'start_time=0&bucket_width=1m', status: 200 },
  listCompletionsUsage: { query: 'start_time=0&bucket_width=1m', status: 200 },
  listCosts: { query: 'start_time=0', status: 200 },
  // Nobody signs the log of these tests.
  retrieveAuditLogCheckpoint: { status: 503 },
  exportAuditLogs: { status: 503 },
  retrieveAuditLogProof: {
    ids: async (tenant) => ({ audit_log_id: await tenant.firstOf('/audit_logs') }),
    status: 503,
  },
  listAuditLogs: { status: 200, cursor: (tenant) => tenant.firstOf('/audit_logs') },
  listOrganizationHistory: { status: 200, cursor: ({ organizationId }) => `${organizationId}@0` },
  listProjectHistory: { ids: project, status: 200, cursor: ({ projectId }) => `${projectId}@0` },
  listProjectApiKeyHistory: {
    ids: ({ projectId, projectKey }) => ({ project_id: projectId, api_key_id: projectKey.id }),
    status: 200,
    cursor: ({ projectKey }) => `${projectKey.id}@0`,
  },
  listAdminApiKeyHistory: {
    ids: (tenant) => ({ api_key_id: tenant.adminKey.id }),
    status: 200,
    cursor: (tenant) => `${tenant.adminKey.id}@0`,
  },
  listPolicyHistory: {
    ids: ({ policyId }) => ({ policy_id: policyId }),
    status: 200,
    cursor: ({ policyId }) => `${policyId}@0`,
  },
  createAccessToken: { status: 401 },
  revokeAccessToken: { status: 401 },
  getAuthorizationServerMetadata: { status: 200 },
  getHealth: { status: 200 },
  getReadiness: { status: 200 },
  getOpenapi: { status: 200 },
};
