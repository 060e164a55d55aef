/** The version of package.json, as `weir --version` and the OpenAPI document say it; test/cli/usage.test.ts compares them. */
export const version = '0.1.0';
