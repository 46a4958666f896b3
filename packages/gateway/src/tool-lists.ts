import { delay } from "@ai-sdk/provider-utils";
import type { Tool } from "@modelcontextprotocol/server";
import { messageOf } from "../../../src/errors.ts";
import * as limits from "./gateway-limits.ts";
import { json, withTimeLimit } from "../../../src/internal.ts";
import { idlePatterns } from "./servers/server-rules.ts";
import type { ToolList, Upstream } from "./servers/upstream.ts";

/** What a server has said about itself. */
export interface Said {
  readonly tools?: readonly Tool[];
  readonly instructions?: string | undefined;
}

/** Keeps what servers have said for the next start, by their names and addresses. A `Map` keeps it for the process. */
export interface ListKeeper {
  get(key: string): Said | undefined;
  set(key: string, said: Said): unknown;
}

export interface ToolListsOptions {
  readonly log: (line: string) => void;
  /** Called when a server answers after its list was given without it, or differs from what was kept. */
  readonly onToolsChanged: () => void;
  readonly keeper: ListKeeper;
}

/** Tools that a server has listed in this process. */
interface Known extends Pick<ToolList, "tools"> {
  /** Time from which the server wants a new request, in milliseconds since 1970. */
  readonly freshUntilMs: number;
}

/** The lists of tools of all servers. A server that is slow or down never delays the others for long. */
export function toolLists({ log, onToolsChanged, keeper }: ToolListsOptions) {
  const known = new Map<string, Known>();
  /** Requests that are not answered, by server. */
  const asking = new Map<string, Promise<readonly Tool[]>>();
  /** Servers whose list has changed during the request for it. */
  const outdated = new Set<string>();
  return { toolsOf, instructionsOf, waitedFor, renew };

  /**
   * Returns the server's tools. Uses the list that the server sent in this process, until it expires; else the
   * stored list, which is renewed meanwhile; else the server's answer, if it arrives in time. If a server does not
   * answer, returns the known tools, and their calls report that it is down. Never rejects.
   */
  async function toolsOf(upstream: Upstream): Promise<readonly Tool[]> {
    const { name } = upstream.server;
    const own = known.get(name);
    if (own !== undefined && Date.now() < own.freshUntilMs) return own.tools;
    const given = own?.tools ?? keeper.get(keyOf(upstream))?.tools;
    const waitMs =
      own !== undefined ? limits.gatewayStaleMs : given === undefined ? limits.gatewayListMs : 0;
    // Requests for the same list share one answer.
    const tools = asking.get(name) ?? begin(upstream, given ?? [], waitMs);
    if (given !== undefined && waitMs === 0) return given;
    return withTimeLimit(waitMs, () => tools).catch(() => given ?? []);
  }

  /** The instructions of a server as it sent them last. Undefined if it has never been connected. */
  function instructionsOf(upstream: Upstream): string | undefined {
    return upstream.instructions ?? keeper.get(keyOf(upstream))?.instructions;
  }

  /** Notes that a client need not wait again for the instructions of a server that has not sent them. */
  function waitedFor(upstream: Upstream): void {
    if (instructionsOf(upstream) === undefined) keep(upstream, { instructions: "" });
  }

  /** Never throws: a list can be used although it cannot be kept. */
  function keep(upstream: Upstream, said: Said): void {
    const key = keyOf(upstream);
    try {
      keeper.set(key, { ...keeper.get(key), ...said });
    } catch (error) {
      log(`What server ${upstream.server.name} lists is not kept: ${messageOf(error)}`);
    }
  }

  /** Asks the server again. Until it answers, its tools are those that it named before. */
  function renew(upstream: Upstream): void {
    const { name } = upstream.server;
    if (asking.has(name)) outdated.add(name);
    else begin(upstream);
  }

  /**
   * Asks the server, and announces a list that differs from the one before. `given`: the list that is returned in the
   * meantime; `waitMs`: how long that waits for a newer one, which is not announced.
   */
  function begin(upstream: Upstream, given?: readonly Tool[], waitMs = Infinity) {
    const { name } = upstream.server;
    const before = given ?? known.get(name)?.tools;
    const ask = async () => {
      // Known lists are returned first, because starting a program would delay them.
      if (waitMs === 0) await delay(limits.gatewayRenewMs);
      const beganMs = Date.now();
      const tools = await fetched(upstream);
      const isLate = given === undefined || Date.now() - beganMs >= waitMs;
      const isNew = tools !== undefined && JSON.stringify(before) !== JSON.stringify(tools);
      if (isLate && isNew) onToolsChanged();
      return tools ?? given ?? [];
    };
    const tools = ask().finally(() => {
      asking.delete(name);
      if (outdated.delete(name)) renew(upstream);
    });
    asking.set(name, tools);
    return tools;
  }

  /** Undefined for a server that does not answer, which is logged. Never rejects. */
  async function fetched(upstream: Upstream): Promise<readonly Tool[] | undefined> {
    try {
      const { tools, ttlMs } = await upstream.tools();
      known.set(upstream.server.name, { tools, freshUntilMs: Date.now() + ttlMs });
      keep(upstream, { tools, ...json.compact({ instructions: upstream.instructions }) });
      for (const pattern of idlePatterns(upstream.server, tools)) {
        upstream.logOnce(`no tool fits the rule for ${pattern}.`);
      }
      return tools;
    } catch (error) {
      if (!upstream.isClosed) log(messageOf(error));
      return undefined;
    }
  }
}

/** The environment and headers may hold keys, and do not decide which tools there are. */
function keyOf({ server: { name, address } }: Upstream): string {
  const place = "url" in address ? address.url : [address.command, ...address.args];
  return JSON.stringify([name, place]);
}
