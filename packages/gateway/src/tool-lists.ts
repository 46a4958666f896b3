import { delay } from "@ai-sdk/provider-utils";
import type { Tool } from "@modelcontextprotocol/server";
import { messageOf } from "../../../src/errors.ts";
import * as limits from "./gateway-limits.ts";
import { withTimeLimit } from "../../../src/internal.ts";
import { idlePatterns, type RuledServer } from "../../mcp/src/server-rules.ts";
import type { ToolList, Upstream } from "./upstream.ts";

/** Keeps the list of each server for the next start, by the server's name and address. */
export interface ListKeeper {
  read(key: string): readonly Tool[] | undefined;
  write(key: string, tools: readonly Tool[]): void;
  /** Keeps the server's instructions, too. Default: the first answer to a client waits for the server. */
  readInstructions?(key: string): string | undefined;
  writeInstructions?(key: string, text: string): void;
}

export interface ToolListsOptions {
  readonly log: (line: string) => void;
  /** Called when a server answers after its list was given without it, or differs from what was kept. */
  readonly onToolsChanged: () => void;
  readonly keeper?: ListKeeper | undefined;
}

/** Tools that a server has listed in this process. */
interface Known extends Pick<ToolList, "tools"> {
  /** Time from which the server wants a new request, in milliseconds since 1970. */
  readonly freshUntilMs: number;
}

/** The lists of tools of all servers. A server that is slow or down never delays the others for long. */
export class ToolLists {
  readonly #options: ToolListsOptions;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Asking>();
  /** Servers whose list has changed during the request for it. */
  readonly #outdated = new Set<string>();
  readonly #idleRules = new Set<string>();

  constructor(options: ToolListsOptions) {
    this.#options = options;
  }

  /**
   * Returns the server's tools. Uses the list that the server sent in this process, until it expires; else the
   * stored list, which is renewed meanwhile; else the server's answer, if it arrives in time. If a server does not
   * answer, returns the known tools, and their calls report that it is down. Never rejects.
   */
  async toolsOf(upstream: Upstream): Promise<readonly Tool[]> {
    const { server } = upstream;
    const known = this.#known.get(server.name);
    if (known !== undefined && isFresh(known)) return known.tools;
    const given = known?.tools ?? this.#options.keeper?.read(keyOf(upstream));
    const waitMs =
      known !== undefined ? limits.gatewayStaleMs : given === undefined ? limits.gatewayListMs : 0;
    // Requests for the same list share one answer.
    const { beganMs, tools } =
      this.#asking.get(server.name) ??
      this.#begin(upstream, this.#asked(upstream, given ?? [], waitMs));
    if (given !== undefined && waitMs === 0) return given;
    const leftMs = Math.max(beganMs + waitMs - Date.now(), 0);
    return withTimeLimit(leftMs, () => tools).catch(() => given ?? []);
  }

  /** The instructions of a server as it sent them last. Undefined if it has never been connected. */
  instructionsOf(upstream: Upstream): string | undefined {
    return upstream.instructions ?? this.#options.keeper?.readInstructions?.(keyOf(upstream));
  }

  /** Notes that a client need not wait again for the instructions of a server that has not sent them. */
  waitedFor(upstream: Upstream): void {
    if (this.instructionsOf(upstream) !== undefined) return;
    this.#options.keeper?.writeInstructions?.(keyOf(upstream), "");
  }

  /** True if the list of each of the servers is known and has not expired. */
  areFresh(upstreams: readonly Upstream[]): boolean {
    const known = upstreams.map(({ server }) => this.#known.get(server.name));
    return known.every((one) => one !== undefined && isFresh(one));
  }

  /** Asks the server again. Until it answers, its tools are those that it named before. */
  renew(upstream: Upstream): void {
    const { name } = upstream.server;
    if (this.#asking.has(name)) this.#outdated.add(name);
    else {
      const renewed = this.#fetched(upstream).then((tools) => {
        if (tools !== undefined) this.#options.onToolsChanged();
        return tools ?? [];
      });
      this.#begin(upstream, renewed);
    }
  }

  /** `given`: the list to return in the meantime; `waitMs`: how long that waits for a newer one. */
  async #asked(
    upstream: Upstream,
    given: readonly Tool[],
    waitMs: number,
  ): Promise<readonly Tool[]> {
    // Known lists are returned first, because starting a program would delay them.
    if (waitMs === 0) await delay(limits.gatewayRenewMs);
    const began = Date.now();
    const tools = await this.#fetched(upstream);
    if (tools === undefined) return given;
    const isLate = Date.now() - began >= waitMs;
    if (isLate && JSON.stringify(given) !== JSON.stringify(tools)) this.#options.onToolsChanged();
    return tools;
  }

  /** Undefined for a server that does not answer, which is logged. Never rejects. */
  async #fetched(upstream: Upstream): Promise<readonly Tool[] | undefined> {
    try {
      const { tools, ttlMs } = await upstream.tools();
      this.#known.set(upstream.server.name, { tools, freshUntilMs: Date.now() + ttlMs });
      const { keeper } = this.#options;
      const { instructions } = upstream;
      keeper?.write(keyOf(upstream), tools);
      if (instructions !== undefined) keeper?.writeInstructions?.(keyOf(upstream), instructions);
      this.#logIdleRules(upstream.server, tools);
      return tools;
    } catch (error) {
      if (!upstream.isClosed) this.#options.log(messageOf(error));
      return undefined;
    }
  }

  /** Logs each rule that fits no tool, once. */
  #logIdleRules(server: RuledServer, tools: readonly Tool[]): void {
    for (const pattern of idlePatterns(server, tools)) {
      const line = `Server ${server.name}: no tool fits the rule for ${pattern}.`;
      if (!this.#idleRules.has(line)) this.#options.log(line);
      this.#idleRules.add(line);
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

function isFresh({ freshUntilMs }: Known): boolean {
  return Date.now() < freshUntilMs;
}

interface Asking {
  readonly beganMs: number;
  readonly tools: Promise<readonly Tool[]>;
}

/** The environment and headers may hold keys, and do not decide which tools there are. */
function keyOf({ server: { name, address } }: Upstream): string {
  const place = "url" in address ? address.url : [address.command, ...address.args];
  return JSON.stringify([name, place]);
}
