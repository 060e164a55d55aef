/** Major versions with binaries of uWebSockets.js, and the least minor version that Weir needs. */
const supported: Readonly<Record<number, readonly [minor: number]>> = { 20: [19], 22: [12], 24: [0], 26: [0] };

export const runsOn = (version: string): string | null => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const least = supported[major];
  if (least && minor >= least[0]) return null;
  return `Weir runs on Node 20.19 or later, 22, 24 and 26; this is Node ${version}.`;
};
