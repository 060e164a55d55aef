/** `20261120`, in UTC: what the names of daily streams end with. */
export const day = (at: number): string => new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
