/** A class of values by name, each made when first read. With getters, for speed. */
export const lazily = <S, V extends object>(
  makers: {
    readonly [K in keyof V]: (source: S, own: V) => V[K];
  },
): (new (
  source: S,
) => V) => {
  const names = Object.keys(makers) as (keyof V)[];
  class Lazy {
    readonly #source: S;
    readonly #made: unknown[] = new Array(names.length);
    constructor(source: S) {
      this.#source = source;
    }
    static {
      for (const [at, name] of names.entries()) {
        const make = makers[name];
        Object.defineProperty(Lazy.prototype, name, {
          get(this: Lazy) {
            this.#made[at] ??= make(this.#source, this as unknown as V);
            return this.#made[at];
          },
        });
      }
    }
  }
  return Lazy as unknown as new (
    source: S,
  ) => V;
};
