import type { Tool } from "@modelcontextprotocol/server";
import { messageOf } from "../errors.ts";
import * as limits from "./gateway-limits.ts";
import { withTimeLimit } from "../value/deadline.ts";
import type { Upstream } from "./upstream.ts";

/** Keeps the list of each server for the next start, by the server's name and address. */
export interface ListKeeper {
  read(key: string): readonly Tool[] | undefined;
  write(key: string, tools: readonly Tool[]): void;
}

export interface ToolListsOptions {
  readonly log: (line: string) => void;
  /** Called when a server answers after its list was given without it, or differs from what was kept. */
  readonly onToolsChanged: () => void;
  readonly keeper?: ListKeeper | undefined;
}

/** The lists of tools of all servers. A server that is slow or down never delays the others for long. */
export class ToolLists {
  readonly #options: ToolListsOptions;
  readonly #known = new Map<string, readonly Tool[]>();
  readonly #asking = new Set<string>();

  constructor(options: ToolListsOptions) {
    this.#options = options;
  }

  /**
   * Returns the server's tools: those it named in this process; else those that were kept, which are renewed
   * meanwhile; else what it answers in time. Empty for a server that does not answer. Never rejects.
   */
  async toolsOf(upstream: Upstream): Promise<readonly Tool[]> {
    const { server } = upstream;
    const known = this.#known.get(server.name);
    if (known !== undefined) return known;
    const kept = this.#options.keeper?.read(keyOf(upstream));
    const asked = this.#ask(upstream, kept);
    if (kept !== undefined) return kept;
    return withTimeLimit(limits.gatewayListMs, () => asked).catch(() => []);
  }

  /** True if each of the servers has named its tools. */
  isComplete(upstreams: readonly Upstream[]): boolean {
    return upstreams.every(({ server }) => this.#known.has(server.name));
  }

  /** The list of the server of this name is asked for again. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  async #ask(upstream: Upstream, given: readonly Tool[] = []): Promise<readonly Tool[]> {
    const { name } = upstream.server;
    if (this.#asking.has(name)) return given;
    this.#asking.add(name);
    // What is known is answered first; a program that starts meanwhile would delay it.
    if (given.length > 0) await pause(limits.gatewayRenewMs);
    const began = Date.now();
    try {
      const tools = await upstream.tools();
      this.#known.set(name, tools);
      this.#options.keeper?.write(keyOf(upstream), tools);
      const isLate = given.length > 0 || Date.now() - began >= limits.gatewayListMs;
      if (isLate && JSON.stringify(given) !== JSON.stringify(tools)) this.#options.onToolsChanged();
      return tools;
    } catch (error) {
      if (!upstream.isClosed) this.#options.log(messageOf(error));
      return given;
    } finally {
      this.#asking.delete(name);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, ms);
  });
}

/** The environment and headers may hold keys, and do not decide which tools there are. */
function keyOf({ server: { name, address } }: Upstream): string {
  const place = "url" in address ? address.url : [address.command, ...address.args];
  return JSON.stringify([name, place]);
}
