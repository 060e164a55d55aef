/** What a configuration is made of. Rates are so high that nobody is refused: the counting is what is measured. */
export interface ProxyFiles {
  readonly port: number;
  readonly dir: string;
  readonly bodyFile: string;
  readonly upstreamPort: number | null;
}
