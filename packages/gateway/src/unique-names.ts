import { shortHash } from "../../../src/internal.ts";
import * as limits from "./gateway-limits.ts";

/** A name as a server gives it. */
export interface Named {
  readonly server: string;
  readonly name: string;
  /** True for a tool of this process, which is no server's. */
  readonly isLocal?: true;
}

/**
 * Returns a unique name for each, in order: its own for the first of a name, `server__name` for the others, for names
 * that a reader could take for the gateway's or another server's, and for those with unusual characters. Names are
 * the same if they differ in case or punctuation only, because clients replace characters. A name that is too long
 * ends in a digest of it.
 */
export function uniqueNames(
  all: readonly Named[],
  servers: readonly string[] = [],
): readonly string[] {
  const used = new Set<string>();
  return all.map((one) => uniqueName(one, servers, used));
}

/** Gives each tool the name that it had before: a name must not come to mean another server's tool. */
export class LastingNames {
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #servers: readonly string[];

  /** `servers`: all of them. A name that begins with one of them and `__` is that server's. */
  constructor(servers: readonly string[] = []) {
    this.#servers = servers;
  }

  /** Returns names as `uniqueNames` does, in order. */
  of(all: readonly Named[]): readonly string[] {
    return all.map((one) => {
      const key = JSON.stringify([one.server, one.name, one.isLocal]);
      const name = this.#given.get(key) ?? uniqueName(one, this.#servers, this.#used);
      this.#given.set(key, name);
      return name;
    });
  }
}

/** `used`: the keys of the names that are given. Adds the name's. */
function uniqueName(named: Named, servers: readonly string[], used: Set<string>): string {
  const { server, name } = named;
  const own = shortened(name);
  const isFree = !used.has(keyOf(own)) && !isReserved(named, servers);
  const wanted = isFree ? own : shortened(prefixed(server, name));
  let unique = wanted;
  for (let count = 2; used.has(keyOf(unique)); count++) unique = shortened(`${wanted}_${count}`);
  used.add(keyOf(unique));
  return unique;
}

/** A name that is printed as it is read. Others get their server's name in front. */
const PLAIN = /^[\w./:-]+$/u;

function isReserved({ server, name }: Named, servers: readonly string[]): boolean {
  return (
    !PLAIN.test(name) ||
    looksOwn(name) ||
    servers.some((other) => other !== server && keyOf(name).startsWith(`${keyOf(other)}__`))
  );
}

/** A server that is named like the gateway does not look like it either. */
function prefixed(server: string, name: string): string {
  return `${looksOwn(server) ? "server_" : ""}${server}__${name}`;
}

/** What clients leave of a name: they replace what is no letter, digit or underscore, and some ignore case. */
function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\w]/gu, "_");
}

/**
 * True for the names of the gateway's own tools, also of those that it does not offer here, and for what a reader takes
 * for one at a glance: in other case, with other punctuation, in the plural, with digits for letters.
 */
function looksOwn(name: string): boolean {
  return OWN.test(name.toLowerCase().replaceAll(/[^a-z\d]/gu, ""));
}

const OWN =
  /^byref|^(?:[l1i][i1l]st|read|ed[i1l]t|query|save|sh[o0]w)var[i1l]ab[l1i]es?$|^(?:f[i1l]nd|ca[l1i]{2})t[o0]{2}[l1i]s?$/u;

function shortened(name: string): string {
  if (name.length <= limits.maxGatewayNameChars) return name;
  const end = `_${shortHash(name)}`;
  return name.slice(0, limits.maxGatewayNameChars - end.length) + end;
}
