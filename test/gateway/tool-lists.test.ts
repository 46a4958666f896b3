import { expect, it, vi } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { textIn } from "../support/gateway-process.ts";
import { RawServer } from "../support/raw-server.ts";

/** A server whose tools have these names, and answer with their name. */
function serverOf(names: readonly string[]) {
  return new RawServer({
    "tools/list": () => ({
      tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
    }),
    "tools/call": ({ name }) => ({ content: [{ type: "text", text: name }] }),
  });
}

it("lists and calls at the same time get the tools of all servers", async () => {
  const server = serverOf(["one"]);
  const { client, call } = await startGateway([{ name: "shop", make: () => server }]);
  const [first, second, called] = await Promise.all([
    client.listTools(),
    client.listTools(),
    call("one"),
  ]);
  expect(first.tools.map(({ name }) => name)).toContain("one");
  expect(second.tools).toEqual(first.tools);
  expect(textIn(called)).toBe("one");
});

it("a server's tools stay until it has answered with its new ones", async () => {
  const names = ["one"];
  const server = serverOf(names);
  const { client, call } = await startGateway([{ name: "shop", make: () => server }]);
  const changed = vi.fn<() => void>();
  client.setNotificationHandler("notifications/tools/list_changed", changed);
  await client.listTools();
  names.push("two");
  server.wire?.notify("notifications/tools/list_changed");
  expect(textIn(await call("one"))).toBe("one");
  await vi.waitFor(() => expect(changed).toHaveBeenCalledOnce());
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("two");
});
