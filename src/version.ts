/** The version of package.json, as `weir --version` says it; test/cli/usage.test.ts compares them. */
export const version = '0.2.0';
