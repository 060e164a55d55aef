const most = 1024;
const longest = 32;

/** Usual names are made once: the last of each hash is kept. */
export class KeptNames {
  readonly #names: string[] = Array.from({ length: most }, () => '');

  get(hash: number, bytes: Buffer, start: number, end: number): string {
    const kept = this.#names[hash % most]!;
    let at = kept.length === end - start ? start : end + 1;
    while (at < end && kept.charCodeAt(at - start) === bytes[at]) at++;
    if (at === end) return kept;
    const name = bytes.toString('utf8', start, end);
    // Of ASCII alone has a name as many characters as bytes.
    if (name.length === end - start && name.length <= longest) this.#names[hash % most] = name;
    return name;
  }
}
