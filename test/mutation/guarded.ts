/** Modules whose tests must have teeth (reliability Q1), and the tests that run them in their own process. */
interface Guard {
  readonly modules: readonly string[];
  readonly tests: readonly string[];
}

export const guarded = {
  limits: {
    modules: [
      'src/limits/count-request.ts',
      'src/limits/record/ring.ts',
      'src/limits/record/record.ts',
      'src/limits/window/records.ts',
      'src/limits/record/request-log.ts',
      'src/limits/reserve.ts',
      'src/limits/http/retry-after.ts',
      'src/limits/settle.ts',
      'src/limits/sweep.ts',
      'src/limits/http/tightest.ts',
    ],
    // What finds most comes first: the tests of a change end with the first that fails.
    tests: [
      'test/limits/windows.test.ts',
      'test/limits/retry-after.test.ts',
      'test/limits/tickets.test.ts',
      'test/limits/acquire.test.ts',
      'test/limits/headers.test.ts',
      'test/limits/inspect.test.ts',
      'test/limits/upkeep.test.ts',
      'test/limits/bounds.test.ts',
      'test/limits/snapshot.test.ts',
    ],
  },
  law: {
    modules: [
      'src/domain/key/admin-key.ts',
      'src/domain/organization/billing.ts',
      'src/domain/oauth/oauth-client.ts',
      'src/domain/oauth/oauth-token.ts',
      'src/domain/organization/organization.ts',
      'src/domain/policy/policy-events.ts',
      'src/domain/policy/policy-terms.ts',
      'src/domain/policy/policy.ts',
      'src/domain/key/project-key.ts',
      'src/domain/project/project.ts',
    ],
    tests: [
      'test/domain/project-key.test.ts',
      'test/domain/project.test.ts',
      'test/domain/organization.test.ts',
      'test/domain/billing.test.ts',
      'test/domain/policy.test.ts',
      'test/domain/admin-key.test.ts',
      'test/domain/oauth.test.ts',
    ],
  },
  idempotency: {
    modules: [
      'src/domain/idempotency.ts',
      'src/admin/idempotent.ts',
      'src/admin/sealed-secret-store.ts',
      'src/admin/sealed-secret.ts',
    ],
    tests: [
      'test/domain/idempotency.test.ts',
      'test/admin/sealed-secret.test.ts',
      'test/admin/idempotent.test.ts',
      'test/admin/keys.test.ts',
    ],
  },
  authentication: {
    modules: [
      'src/data/access/authenticate-client.ts',
      'src/data/access/authenticate.ts',
      'src/data/access/known-tokens.ts',
      'src/ids.ts',
      'src/secrets/secret.ts',
      'src/secrets/master-secrets.ts',
    ],
    tests: [
      'test/ids.test.ts',
      'test/secrets/secret.test.ts',
      'test/secrets/master-secrets.test.ts',
      'test/access/known-tokens.test.ts',
      'test/access/authenticate.test.ts',
      'test/access/limits-gate.test.ts',
      'test/access/limits-seen-by-clients.test.ts',
      'test/admin/oauth.test.ts',
    ],
  },
} as const satisfies Readonly<Record<string, Guard>>;

export type Guarded = keyof typeof guarded;

export const isGuarded = (name: string): name is Guarded => name in guarded;

/** Of a hundred changes so many have to be noticed. */
export const leastScore = 85;
