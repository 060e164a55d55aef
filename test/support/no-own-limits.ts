/** What a key shows that has no limits of its own. */
export const noOwnLimits = {
  limits: {
    requests_per_minute: null,
    tokens_per_minute: null,
    requests_per_day: null,
    concurrent_requests: null,
  },
  spend_limit: null,
};
