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
  readonly #asking = new Map<string, Asking>();
  /** Servers whose list has changed while they were asked for it. */
  readonly #outdated = new Set<string>();

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
    const { beganMs, tools } = this.#ask(upstream, kept);
    if (kept !== undefined) return kept;
    const leftMs = Math.max(beganMs + limits.gatewayListMs - Date.now(), 0);
    return withTimeLimit(leftMs, () => tools).catch(() => []);
  }

  /** True if each of the servers has named its tools. */
  isComplete(upstreams: readonly Upstream[]): boolean {
    return upstreams.every(({ server }) => this.#known.has(server.name));
  }

  /** Asks the server again. Until it answers, its tools are those that it named before. */
  renew(upstream: Upstream): void {
    const { name } = upstream.server;
    if (this.#asking.has(name)) this.#outdated.add(name);
    else this.#begin(upstream, this.#renewed(upstream));
  }

  async #renewed(upstream: Upstream): Promise<readonly Tool[]> {
    const tools = await this.#fetched(upstream);
    if (tools !== undefined) this.#options.onToolsChanged();
    return tools ?? [];
  }

  /** Requests for the same list share one answer. */
  #ask(upstream: Upstream, given: readonly Tool[] = []): Asking {
    return (
      this.#asking.get(upstream.server.name) ?? this.#begin(upstream, this.#asked(upstream, given))
    );
  }

  async #asked(upstream: Upstream, given: readonly Tool[]): Promise<readonly Tool[]> {
    // What is known is answered first; a program that starts meanwhile would delay it.
    if (given.length > 0) await pause(limits.gatewayRenewMs);
    const began = Date.now();
    const tools = await this.#fetched(upstream);
    if (tools === undefined) return given;
    const isLate = given.length > 0 || Date.now() - began >= limits.gatewayListMs;
    if (isLate && JSON.stringify(given) !== JSON.stringify(tools)) this.#options.onToolsChanged();
    return tools;
  }

  /** Undefined for a server that does not answer, which is logged. Never rejects. */
  async #fetched(upstream: Upstream): Promise<readonly Tool[] | undefined> {
    try {
      const tools = await upstream.tools();
      this.#known.set(upstream.server.name, tools);
      this.#options.keeper?.write(keyOf(upstream), tools);
      return tools;
    } catch (error) {
      if (!upstream.isClosed) this.#options.log(messageOf(error));
      return undefined;
    }
  }

  #begin(upstream: Upstream, asked: Promise<readonly Tool[]>): Asking {
    const { name } = upstream.server;
    const tools = asked.finally(() => {
      this.#asking.delete(name);
      if (this.#outdated.delete(name)) this.renew(upstream);
    });
    const asking = { beganMs: Date.now(), tools };
    this.#asking.set(name, asking);
    return asking;
  }
}

interface Asking {
  readonly beganMs: number;
  readonly tools: Promise<readonly Tool[]>;
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
