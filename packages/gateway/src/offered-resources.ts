import type { Resource, ResourceTemplateType } from "@modelcontextprotocol/server";
import { fitsName } from "../../../src/internal-tool.ts";
import { type AllServers, itemsOf } from "./items-of-servers.ts";
import type { Upstream } from "./upstream.ts";

/** A resource of a server, by the address that the server knows. */
export interface FoundResource {
  readonly upstream: Upstream;
  readonly uri: string;
}

/**
 * The resources and templates of all servers. An address belongs to the first server that offered it; on another
 * server it is `byref://servers/NAME/ADDRESS`. The gateway's own addresses are left out, and so are views: a client
 * lets a view use all that its server offers, which would be everything behind the gateway.
 */
export class OfferedResources {
  readonly #servers: AllServers;
  readonly #owners = new Map<string, Upstream>();
  readonly #templateOwners = new Map<string, Upstream>();

  constructor(servers: AllServers) {
    this.#servers = servers;
  }

  /** Asks all servers. */
  async list(): Promise<readonly Resource[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.resources());
    return found
      .filter(({ item }) => !isOwn(item.uri))
      .map(({ upstream, item }) => ({ ...item, uri: claimed(item.uri, upstream, this.#owners) }));
  }

  /** Asks all servers. */
  async templates(): Promise<readonly ResourceTemplateType[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.resourceTemplates());
    return found
      .filter(({ item }) => !isOwn(item.uriTemplate))
      .map(({ upstream, item }) => {
        const uriTemplate = claimed(item.uriTemplate, upstream, this.#templateOwners);
        return { ...item, uriTemplate };
      });
  }

  /**
   * Finds the server that has listed the address, or has the template for it with the most characters of its
   * own. Asks the servers only if none has listed it so far.
   */
  async find(uri: string): Promise<FoundResource | undefined> {
    const prefixed = this.#inServer(uri);
    if (prefixed !== undefined || isOwn(uri)) return prefixed;
    if (!this.#owners.has(uri)) await Promise.all([this.list(), this.templates()]);
    const upstream = this.#ownerOf(uri);
    return upstream && { upstream, uri };
  }

  /** Returns the address under which clients know a server's resource. */
  addressOf({ uri, upstream }: FoundResource): string {
    return shown(uri, upstream, this.#ownerOf(uri));
  }

  #ownerOf(uri: string): Upstream | undefined {
    return this.#owners.get(uri) ?? this.#byTemplate(uri);
  }

  #byTemplate(uri: string): Upstream | undefined {
    const fitting = [...this.#templateOwners.keys()].filter((one) => fitsTemplate(one, uri));
    const [closest] = fitting.toSorted((a, b) => ownChars(b) - ownChars(a));
    return closest === undefined ? undefined : this.#templateOwners.get(closest);
  }

  #inServer(uri: string): FoundResource | undefined {
    const [, name, own = ""] = IN_SERVER.exec(uri) ?? [];
    const upstream = this.#servers.upstreams.find(
      ({ server }) => encodeURIComponent(server.name) === name,
    );
    return upstream && !isOwn(own) ? { upstream, uri: own } : undefined;
  }
}

/** True for addresses of resources that only the gateway itself has. Clients remove spaces when they read an address. */
export function isOwn(address: string): boolean {
  return /^(?:byref|ui):/iu.test(address.replaceAll(/[\s\p{Cc}]/gu, ""));
}

const IN_SERVER = /^byref:\/\/servers\/([^/]+)\/(.+)$/su;

/** Returns the address that clients see. It belongs to the server if it was nobody's. */
function claimed(address: string, upstream: Upstream, owners: Map<string, Upstream>): string {
  const owner = owners.get(address) ?? upstream;
  owners.set(address, owner);
  return shown(address, upstream, owner);
}

function shown(address: string, upstream: Upstream, owner: Upstream | undefined): string {
  if (owner === upstream) return address;
  return `byref://servers/${encodeURIComponent(upstream.server.name)}/${address}`;
}

const EXPRESSION = /\{[^{}]*\}/gu;

/** Takes any characters for each expression: the server itself refuses what does not fit. Linear. */
function fitsTemplate(template: string, uri: string): boolean {
  return template === uri || fitsName(template.replaceAll(EXPRESSION, "*"), uri);
}

function ownChars(template: string): number {
  return template.replaceAll(EXPRESSION, "").length;
}
