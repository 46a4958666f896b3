import * as limits from "./gateway-limits.ts";

/** A name as a server gives it. */
export interface Named {
  readonly server: string;
  readonly name: string;
  /** True for a tool of this process, which is no server's. */
  readonly isLocal?: true;
}

/** The gateway's own tools, also those that it does not offer here. No server's tool can have such a name. */
export const OWN_NAMES = [
  "list_variables",
  "read_variable",
  "edit_variable",
  "query_variables",
  "save_variable",
  "show_variable",
] as const;

export interface Taken {
  /** Names that are given. */
  readonly names: Iterable<string>;
  /** All servers: a name that begins with one of them and `__` is that server's. */
  readonly servers: Iterable<string>;
}

/**
 * Returns a unique name for each, in order: its own for the first of a name, `server__name` for the others, for names
 * that a reader could take for the gateway's or another server's, and for those with unusual characters. Names are
 * the same if they differ in case or punctuation only, because clients replace characters. A name that is too long
 * ends in a digest of it.
 */
export function uniqueNames(
  all: readonly Named[],
  { names = [], servers = [] }: Partial<Taken> = {},
): readonly string[] {
  const used = new Set(Array.from(names, keyOf));
  const prefixes = Array.from(servers, keyOf);
  return all.map(({ server, name }) => {
    const own = shortened(name);
    const isOwn = !used.has(keyOf(own)) && !isReserved({ server, name }, prefixes);
    const wanted = isOwn ? own : shortened(prefixed(server, name));
    let unique = wanted;
    for (let count = 2; used.has(keyOf(unique)); count++) unique = shortened(`${wanted}_${count}`);
    used.add(keyOf(unique));
    return unique;
  });
}

/** Gives each tool the name that it had before: a name must not come to mean another server's tool. */
export class LastingNames {
  readonly #given = new Map<string, string>();
  readonly #servers: readonly string[];

  constructor(servers: readonly string[] = []) {
    this.#servers = servers;
  }

  /** Returns names as `uniqueNames` does, in order. */
  of(all: readonly Named[]): readonly string[] {
    const pair = ({ server, name, isLocal }: Named) => JSON.stringify([server, name, isLocal]);
    const added = all.filter((one) => !this.#given.has(pair(one)));
    const taken = { names: this.#given.values(), servers: this.#servers };
    const names = uniqueNames(added, taken);
    for (const [index, one] of added.entries()) {
      this.#given.set(pair(one), names[index] ?? one.name);
    }
    return all.map((one) => this.#given.get(pair(one)) ?? one.name);
  }
}

/** A name that is printed as it is read. Others get their server's name in front. */
const PLAIN = /^[\w./:-]+$/u;

function isReserved({ server, name }: Named, servers: readonly string[]): boolean {
  const others = servers.filter((other) => other !== keyOf(server));
  return (
    !PLAIN.test(name) ||
    isGateways(name) ||
    OWN_LOOKS.has(lookOf(name)) ||
    others.some((other) => keyOf(name).startsWith(`${other}__`))
  );
}

/** A server that is named like the gateway does not look like it either. */
function prefixed(server: string, name: string): string {
  return `${isGateways(server) ? "server_" : ""}${server}__${name}`;
}

function isGateways(name: string): boolean {
  return lookOf(name).startsWith("byref");
}

/** What clients leave of a name: they replace what is no letter, digit or underscore, and some ignore case. */
function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\w]/gu, "_");
}

/** What a reader sees of a name at a glance: letters of one kind, without punctuation and plural. */
function lookOf(name: string): string {
  const letters = name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^a-z\d]/gu, "");
  return letters.replaceAll(/[1i]/gu, "l").replaceAll("0", "o").replace(/s$/u, "");
}

const OWN_LOOKS: ReadonlySet<string> = new Set(OWN_NAMES.map(lookOf));

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
