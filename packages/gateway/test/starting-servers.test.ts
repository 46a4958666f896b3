import { InMemoryTransport } from "@modelcontextprotocol/client";
import { afterEach, expect, it, vi } from "vitest";
import * as limits from "../src/gateway-limits.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

afterEach(() => void vi.useRealTimers());

const make = () =>
  new RawServer({
    "tools/list": () => ({ tools: [{ name: "list_orders", inputSchema: { type: "object" } }] }),
  });

/** Opens a connection whose server never answers. */
function opensSilent(closed: () => void) {
  return () => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    far.onclose = closed;
    return near;
  };
}

it("a server that is starting is named, and ends with the gateway", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const closed = vi.fn();
  const slow = { name: "slow", make, open: opensSilent(closed) };
  const { gateway } = await startGateway([slow, { name: "good", make }]);
  const listing = gateway.tools();
  await vi.advanceTimersByTimeAsync(limits.gatewayListMs);
  await listing;
  expect(gateway.status).toMatchObject([{ state: "starting" }, { state: "connected" }]);
  const { signal } = new AbortController();
  const asking = { isApproved: () => false, ask: String };
  const call = gateway.call({ name: "ping", input: {}, signal, ...asking });
  await expect(call).rejects.toThrow(
    /^There is no tool ping\. There are: list_orders, .* These servers are still starting: slow\.$/u,
  );
  await gateway.close();
  expect(closed).toHaveBeenCalledOnce();
});
