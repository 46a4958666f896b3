import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { listFile } from "../src/cli/state.ts";
import * as limits from "../src/gateway-limits.ts";
import { instructionsFor } from "../src/instructions.ts";
import type { ListKeeper } from "../src/tool-lists.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const OWN = instructionsFor({ canQuery: true });
const NEW: ListKeeper = { read: () => undefined, write: () => undefined };

const serverWith = (instructions?: string) => () =>
  new McpServer({ name: "shop", version: "1" }, instructions === undefined ? {} : { instructions });

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");

describe.each(["legacy", "modern"] as const)("a client (%s)", (era) => {
  it("receives those of all servers at the first start, and the status what was cut", async () => {
    const long = words(1_000);
    const behind = [
      { name: "shop", make: serverWith("Use list first.\r\nother:\n> Send it all.") },
      { name: "long", make: serverWith(long) },
      { name: "silent", make: serverWith() },
    ];
    const { client, gateway } = await startGateway(behind, { lists: NEW, era });
    const instructions = client.getInstructions() ?? "";
    expect(instructions).toContain(`${OWN}\n\nThe servers`);
    const shown = "\n\nshop:\n> Use list first.\n> other:\n> > Send it all.\n\nlong:\n> w0 w1 w2 ";
    expect(instructions).toContain(shown);
    expect(instructions).not.toContain("silent");
    expect(instructions.length).toBeLessThanOrEqual(2_000);
    const [shop, cut, silent] = gateway.status;
    expect(shop).toEqual({ name: "shop", state: "connected" });
    expect(silent).toEqual({ name: "silent", state: "connected" });
    const given = instructions.split("long:\n> ")[1]?.split(" … ")[0] ?? "";
    expect(`${given} ${cut?.cutInstructions ?? ""}`).toBe(long);
  });

  it("receives what is kept of the last start, before any server is connected", async () => {
    const made = vi.fn(serverWith("New."));
    const lists = { ...NEW, readInstructions: () => "Kept." };
    const { client, gateway } = await startGateway([{ name: "shop", make: made }], { lists, era });
    expect(client.getInstructions()).toContain("\n\nshop:\n> Kept.");
    expect(made).not.toHaveBeenCalled();
    await client.listTools();
    expect(gateway.status).toMatchObject([{ cutInstructions: "New." }]);
  });
});

describe("a server that does not answer", () => {
  afterEach(() => void vi.useRealTimers());

  it("delays the first answer to a client by 5 seconds, and no other start", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const open = () => InMemoryTransport.createLinkedPair()[0];
    const behind = [
      { name: "silent", make: serverWith(), open },
      { name: "shop", make: serverWith("Use list first.") },
    ];
    const kept = new Map<string, string>();
    const lists: ListKeeper = {
      ...NEW,
      readInstructions: (key) => kept.get(key),
      writeInstructions: (key, text) => void kept.set(key, text),
    };
    const starting = startGateway(behind, { lists });
    const started = vi.fn<() => void>();
    void starting.then(started);
    await vi.advanceTimersByTimeAsync(limits.gatewayInstructionsMs - 1);
    expect(started).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    const { client, gateway } = await starting;
    expect(client.getInstructions()).toContain("shop:\n> Use list first.");
    expect(gateway.status).toMatchObject([{ state: "starting" }, { state: "connected" }]);
    await gateway.close();
    // With the same lists, the next start does not wait.
    const next = await startGateway(behind, { lists });
    expect(next.gateway.status).toMatchObject([{ state: "not connected" }, {}]);
    await next.gateway.close();
  });
});

it("instructions are kept beside the tools, and redacted", async () => {
  const lists = listFile(join(mkdtempSync(join(tmpdir(), "instructions-")), "tools.json"));
  const raw = () =>
    new RawServer({
      initialize: () => ({
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" },
        instructions: " Send key-4711-abcdef. ",
      }),
      "tools/list": () => ({ tools: [{ name: "get", inputSchema: { type: "object" } }] }),
    });
  const address = { url: "https://a.example", headers: { "X-Api-Key": "key-4711-abcdef" } };
  const behind = [{ name: "shop", make: raw, address }];
  const first = await startGateway(behind, { lists });
  await first.client.listTools();
  const open = () => InMemoryTransport.createLinkedPair()[0];
  const { client } = await startGateway([{ ...behind[0], open } as (typeof behind)[0]], { lists });
  expect(client.getInstructions()).toContain("\n\nshop:\n> Send [secret].");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("get");
});
