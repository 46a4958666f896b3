import { afterEach, expect, it, vi } from "vitest";
import type { ListKeeper } from "../src/tool-lists.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Creates a server whose tools have these names and return their name. */
function serverOf(names: readonly string[], more: object = {}) {
  return new RawServer({
    "tools/list": () => ({
      tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
      ...more,
    }),
    "tools/call": ({ name }) => ({ content: [{ type: "text", text: name }] }),
  });
}

const MINUTE = 60_000;

const listsAt = ({ received }: RawServer) =>
  received.filter((one) => "method" in one && one.method === "tools/list").length;

it("the lifetime of a server's list must pass before a new list, not a call, asks the server again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const names = ["one"];
  const server = serverOf(names, { ttlMs: MINUTE });
  const { client, call } = await startGateway([{ name: "shop", make: () => server }]);
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
  expect(await listed()).toContain("one");
  names.push("two");
  vi.advanceTimersByTime(MINUTE - 1);
  expect(await listed()).not.toContain("two");
  expect(listsAt(server)).toBe(1);
  vi.advanceTimersByTime(1);
  await call("one");
  expect(listsAt(server)).toBe(1);
  expect(await listed()).toContain("two");
  expect(listsAt(server)).toBe(2);
  expect(textIn(await call("two"))).toBe("two");
});

const kept = [{ name: "one", inputSchema: { type: "object" as const } }];
const lists: ListKeeper = {
  read: (key) => (key.includes("shop") ? kept : undefined),
  write: () => undefined,
};
const down = () => {
  throw new Error("It does not start.");
};

it("a server that is down keeps its known tools, whose calls say that it is down", async () => {
  const behind = [
    { name: "shop", make: down },
    { name: "other", make: () => serverOf(["two"]) },
  ];
  const { client, call } = await startGateway(behind, { lists });
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
  expect(await listed()).toEqual(expect.arrayContaining(["one", "two"]));
  const failed = await call("one");
  expect(failed.isError).toBe(true);
  expect(textIn(failed)).toMatch(
    /^server_unavailable: Server shop is not available; continue without its tools\. .+/u,
  );
  expect(textIn(await call("two"))).toBe("two");
  const { contents } = await client.readResource({ uri: "byref://status" });
  expect(JSON.stringify(contents)).toContain("unavailable");
  expect(await listed()).toEqual(expect.arrayContaining(["one", "two"]));
});
