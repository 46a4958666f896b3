import * as limits from "./gateway-limits.ts";

/** A name as a server gives it. */
export interface Named {
  readonly server: string;
  readonly name: string;
}

/**
 * Returns a unique name for each, in order: its own for the first of a name, `server__name` for the others. A
 * name that is too long ends in a digest of it.
 */
export function uniqueNames(
  all: readonly Named[],
  taken: Iterable<string> = [],
): readonly string[] {
  const used = new Set(taken);
  return all.map(({ server, name }) => {
    const own = shortened(name);
    const wanted = used.has(own) ? shortened(`${server}__${name}`) : own;
    let unique = wanted;
    for (let count = 2; used.has(unique); count++) unique = shortened(`${wanted}_${count}`);
    used.add(unique);
    return unique;
  });
}

/** Gives each tool the name that it had before: a name must not come to mean another server's tool. */
export class LastingNames {
  readonly #given = new Map<string, string>();

  /** Returns names as `uniqueNames` does, in order. */
  of(all: readonly Named[]): readonly string[] {
    const keyOf = ({ server, name }: Named) => JSON.stringify([server, name]);
    const added = all.filter((one) => !this.#given.has(keyOf(one)));
    const names = uniqueNames(added, this.#given.values());
    for (const [index, one] of added.entries()) {
      this.#given.set(keyOf(one), names[index] ?? one.name);
    }
    return all.map((one) => this.#given.get(keyOf(one)) ?? one.name);
  }
}

function shortened(name: string): string {
  if (name.length <= limits.maxGatewayNameChars) return name;
  const end = `_${digestOf(name)}`;
  return name.slice(0, limits.maxGatewayNameChars - end.length) + end;
}

/** FNV-1a, 32 bits. Used only to distinguish names. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash.toString(36);
}
