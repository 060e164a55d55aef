/** Modules whose tests must have teeth (reliability Q1), and the tests that run them in their own process. */
interface Guard {
  readonly modules: readonly string[];
  readonly tests: readonly string[];
}

export const guarded = {
  limits: {
    modules: [
      'src/limits/acquire.ts',
      'src/limits/admit.ts',
      'src/limits/amounts.ts',
      'src/limits/buckets.ts',
      'src/limits/move.ts',
      'src/limits/request-log.ts',
      'src/limits/reserve.ts',
      'src/limits/resolve.ts',
      'src/limits/retry-after.ts',
      'src/limits/settle.ts',
      'src/limits/sweep.ts',
      'src/limits/tightest.ts',
      'src/limits/wait.ts',
      'src/limits/window.ts',
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
  idempotency: {
    modules: [
      'src/domain/idempotency.ts',
      'src/admin/idempotent.ts',
      'src/admin/replay.ts',
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
      'src/admin/oauth-authenticate.ts',
      'src/gateway/authenticate.ts',
      'src/gateway/known-tokens.ts',
      'src/ids.ts',
      'src/secret.ts',
      'src/secrets.ts',
    ],
    tests: [
      'test/ids.test.ts',
      'test/secret.test.ts',
      'test/secrets.test.ts',
      'test/gateway/known-tokens.test.ts',
      'test/gateway/authenticate.test.ts',
      'test/gateway/limits-gate.test.ts',
      'test/gateway/limits-outside.test.ts',
      'test/admin/oauth.test.ts',
    ],
  },
} as const satisfies Readonly<Record<string, Guard>>;

export type Guarded = keyof typeof guarded;

export const isGuarded = (name: string): name is Guarded => name in guarded;

/** Of a hundred changes so many have to be noticed. */
export const leastScore = 85;
