export interface Host {
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  /** Undefined on musl. */
  readonly glibc: string | undefined;
}

/** Takes 20 ms: only for errors. */
export const thisHost = (): Host => {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const { platform, arch, versions } = process;
  return { node: versions.node, platform, arch, glibc: header.glibcVersionRuntime };
};

const numbers = (version: string): number[] => version.split('.').map(Number);

const isOlder = (version: string, least: string): boolean => {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbers(version), numbers(least)];
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
};

/** One line: what was found, what is needed, what to do. */
export const whyNoServer = ({ node, platform, arch, glibc }: Host): string => {
  const start = 'The HTTP server cannot start:';
  const good = 'such as Debian 13 or Ubuntu 24.04.';
  // The glibc that the binaries are linked with.
  const isNewer = Number(node.split('.')[0]) >= 24;
  const least = isNewer ? '2.38' : '2.27';
  if (platform === 'linux' && glibc === undefined)
    return `${start} it needs glibc, and the C library of this system is another, such as musl. Use a system with glibc ${good}`;
  if (glibc !== undefined && isOlder(glibc, least)) {
    const advice = isNewer ? 'Use Node 22 here, or a newer system' : 'Use a newer system';
    return `${start} on Node ${node} it needs glibc ${least} or later, and this system has ${glibc}. ${advice} ${good}`;
  }
  const binary = `its binary for Node ${node} on ${platform} ${arch} is not installed or cannot be loaded`;
  return `${start} ${binary}. Run npm install again, with this Node.`;
};
