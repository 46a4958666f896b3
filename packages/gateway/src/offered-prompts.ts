import type { Prompt } from "@modelcontextprotocol/server";
import { type AllServers, itemsOf } from "./items-of-servers.ts";
import { LastingNames } from "./unique-names.ts";
import type { Upstream } from "./upstream.ts";

export interface OfferedPrompt {
  readonly upstream: Upstream;
  readonly item: Prompt;
  /** The name that the client sees. */
  readonly shown: string;
}

/** The prompts of all servers, under the names that they had before. */
export class OfferedPrompts {
  readonly #servers: AllServers;
  #names: LastingNames | undefined;
  #known: Promise<readonly OfferedPrompt[]> | undefined;

  constructor(servers: AllServers) {
    this.#servers = servers;
  }

  /** Asks all servers. */
  list(): Promise<readonly OfferedPrompt[]> {
    this.#known = this.#list();
    return this.#known;
  }

  /** Asks the servers only if the prompt was not in their last lists. */
  async find(name: string): Promise<OfferedPrompt | undefined> {
    const named = ({ shown }: OfferedPrompt) => shown === name;
    return (await this.#known)?.find(named) ?? (await this.list()).find(named);
  }

  async #list(): Promise<readonly OfferedPrompt[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.prompts());
    const servers = this.#servers.upstreams.map(({ server }) => server.name);
    this.#names ??= new LastingNames(servers);
    const names = this.#names.of(
      found.map(({ upstream, item: { name } }) => ({ server: upstream.server.name, name })),
    );
    return found.map((one, index) => ({ ...one, shown: names[index] ?? one.item.name }));
  }
}
