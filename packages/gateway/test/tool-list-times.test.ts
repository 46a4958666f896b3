import type { Tool } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ServerAddress } from "../src/configuration.ts";
import * as limits from "../src/gateway-limits.ts";
import { toolLists } from "../src/tool-lists.ts";
import type { ToolList, Upstream } from "../src/upstream.ts";

const MINUTE = 60_000;
const listOf = (...names: readonly string[]): readonly Tool[] =>
  names.map((name) => ({ name, inputSchema: { type: "object" as const } }));
const [OLD, NEW] = [listOf("old"), listOf("new")];

/** Answers a request for a list after `ms`. */
const after =
  (ms: number, tools: readonly Tool[], ttlMs = Infinity) =>
  () =>
    new Promise<ToolList>((done) => {
      setTimeout(() => done({ tools, ttlMs }), ms);
    });

interface Set {
  readonly kept?: readonly Tool[];
  readonly address?: ServerAddress;
  readonly isClosed?: boolean;
}

/** Creates the lists of one server, which answers each request in order. */
function listsOf(answers: readonly (() => Promise<ToolList>)[], set: Set = {}) {
  const { kept, isClosed = false } = set;
  const address = set.address ?? { url: "https://shop.example", headers: { key: "secret" } };
  const left = [...answers];
  const tools = vi.fn<() => Promise<ToolList>>(
    () => left.shift()?.() ?? new Promise<ToolList>(() => undefined),
  );
  const upstream = { server: { name: "shop", address, rules: {} }, tools, isClosed };
  const log: string[] = [];
  const onToolsChanged = vi.fn<() => void>();
  const written: unknown[] = [];
  const keeper = {
    read: (key: string) => (key.includes("shop") ? kept : undefined),
    write: (key: string, list: readonly Tool[]) => written.push([key, list]),
  };
  const lists = toolLists({ log: (line) => log.push(line), onToolsChanged, keeper });
  return { lists, upstream: upstream as unknown as Upstream, log, onToolsChanged, written, tools };
}

type Lists = ReturnType<typeof listsOf>;

/** Asks for the tools; `is` is what was returned so far. */
function asked({ lists, upstream }: Lists) {
  const answer: { is?: readonly Tool[] } = {};
  void lists.toolsOf(upstream).then((tools) => {
    answer.is = tools;
  });
  return answer;
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the first list of a server", () => {
  it("waits for the server, for 10 seconds at most", async () => {
    const all = listsOf([after(limits.gatewayListMs + 1, NEW)]);
    const answer = asked(all);
    await pass(limits.gatewayListMs - 1);
    expect(answer.is).toBeUndefined();
    await pass(1);
    expect(answer.is).toEqual([]);
    expect(all.onToolsChanged).not.toHaveBeenCalled();
    await pass(1);
    expect(all.onToolsChanged).toHaveBeenCalledOnce();
    expect(asked(all).is ?? (await all.lists.toolsOf(all.upstream))).toBe(NEW);
    expect(all.tools).toHaveBeenCalledOnce();
  });

  it("is not a change if the server answers in time, or late without tools", async () => {
    const early = listsOf([after(limits.gatewayListMs - 1, NEW)]);
    const answer = asked(early);
    await pass(limits.gatewayListMs - 1);
    expect(answer.is).toBe(NEW);
    const late = listsOf([after(limits.gatewayListMs + 1, [])]);
    asked(late);
    await pass(limits.gatewayListMs + 1);
    expect([early, late].map((one) => one.onToolsChanged.mock.calls.length)).toEqual([0, 0]);
  });
});

describe("a list of an earlier start", () => {
  it("is returned at once, and the server is asked a tenth of a second later", async () => {
    const all = listsOf([after(0, NEW)], { kept: OLD });
    const answer = asked(all);
    await pass(limits.gatewayRenewMs - 1);
    expect(answer.is).toBe(OLD);
    expect(all.tools).not.toHaveBeenCalled();
    await pass(1);
    expect(all.tools).toHaveBeenCalledOnce();
    await pass(1);
    expect(all.onToolsChanged).toHaveBeenCalledOnce();
    expect(await all.lists.toolsOf(all.upstream)).toBe(NEW);
  });

  it.each<[ServerAddress, unknown]>([
    [{ url: "https://shop.example", headers: { key: "secret" } }, "https://shop.example"],
    [{ command: "npx", args: ["-y", "shop"], env: { KEY: "secret" } }, ["npx", "-y", "shop"]],
  ])("is kept by name and address, without secrets: %j", async (address, place) => {
    const all = listsOf([after(0, NEW)], { address });
    asked(all);
    await pass(0);
    expect(all.written).toEqual([[JSON.stringify(["shop", place]), NEW]]);
  });
});

describe("a server that says that its tools have changed", () => {
  it("is asked at once, and the change is announced when it has answered", async () => {
    const all = listsOf([after(5, NEW)]);
    all.lists.renew(all.upstream);
    await pass(4);
    expect(all.onToolsChanged).not.toHaveBeenCalled();
    await pass(1);
    expect(all.onToolsChanged).toHaveBeenCalledOnce();
    expect(await all.lists.toolsOf(all.upstream)).toBe(NEW);
  });

  it("during the request for them is asked once more", async () => {
    const all = listsOf([after(5, OLD), after(5, NEW)]);
    asked(all);
    all.lists.renew(all.upstream);
    all.lists.renew(all.upstream);
    expect(all.tools).toHaveBeenCalledOnce();
    await pass(10);
    expect(all.tools).toHaveBeenCalledTimes(2);
    expect(await all.lists.toolsOf(all.upstream)).toBe(NEW);
    await pass(MINUTE);
    expect(all.tools).toHaveBeenCalledTimes(2);
  });
});
