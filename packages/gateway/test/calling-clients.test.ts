import { InMemoryTransport, type InputRequest } from "@modelcontextprotocol/client";
import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import {
  answers,
  CallingClients,
  type ClientOfCall,
  guardedClient,
  waitingOf,
} from "../src/client-of-gateway.ts";
import { gatewayServer } from "../src/gateway-server.ts";
import type { Visibility } from "../../../src/store/variable.ts";

const { signal } = new AbortController();
const INFO = { name: "test", version: "1" };
const LINE = { level: "info" as const, data: "text" };
const ACCEPTED = { action: "accept" as const };

const PERSON: InputRequest = {
  method: "elicitation/create",
  params: { message: "Your name?", requestedSchema: { type: "object", properties: {} } },
};
const MODEL: InputRequest = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "Hello?" } }],
    maxTokens: 9,
    systemPrompt: "You are Byref.",
    includeContext: "allServers",
  },
};
const ROOTS: InputRequest = { method: "roots/list" };

/** Creates a client that records what it receives. */
function recording(more: Partial<ClientOfCall> = {}) {
  const lines: unknown[] = [];
  const questions: InputRequest[] = [];
  const client: ClientOfCall = {
    signal,
    onLog: (line) => lines.push(line),
    onQuestion: async (question) => {
      questions.push(question);
      return ACCEPTED;
    },
    ...more,
  };
  return { client, lines, questions };
}

it("a line of a server's log is dropped while any call has guarded values, and not after it", async () => {
  const clients = new CallingClients("shop");
  const { client, lines } = recording();
  const newest = recording();
  const guarded = recording({ visibility: "sealed" });
  await clients.during(client, async () => {
    const failing = clients.during(guarded.client, async () => {
      expect(clients.visibility).toBe("sealed");
      await clients.during(newest.client, async () => clients.log(LINE));
      throw new Error("It failed.");
    });
    await expect(failing).rejects.toThrow("It failed.");
    expect([...lines, ...guarded.lines, ...newest.lines]).toEqual([]);
    expect(clients.visibility).toBe("model");
    clients.log(LINE);
  });
  expect(lines).toEqual([LINE]);
});

it("progress of a call with guarded values has none of the server's words and numbers", () => {
  const seen: unknown[] = [];
  const { client } = recording({ onProgress: (progress) => seen.push(progress) });
  const guarded = guardedClient(client, "sealed");
  for (const message of ["4111", "1111"])
    guarded.onProgress?.({ progress: 4111, total: 1111, message });
  guarded.onLog?.(LINE);
  expect(seen).toEqual([{ progress: 1 }, { progress: 2 }]);
  expect(guardedClient(client, "model")).toBe(client);
});

describe("a server's question", () => {
  it.each<[Visibility, readonly InputRequest[]]>([
    ["model", [PERSON, MODEL, ROOTS]],
    ["sealed", [PERSON, ROOTS]],
    ["secret", [ROOTS]],
  ])("of a call with %s values reaches only who may see them", async (visibility, allowed) => {
    const clients = new CallingClients("shop");
    const { client, questions } = recording({ visibility });
    for (const question of [PERSON, MODEL, ROOTS]) {
      const asked = clients.during(client, () => clients.ask(question));
      if (allowed.includes(question)) expect(await asked).toEqual(ACCEPTED);
      else await expect(asked).rejects.toThrow("The call has guarded values.");
    }
    expect(questions.map(({ method }) => method)).toEqual(allowed.map(({ method }) => method));
  });

  it("says which server asks, to a person and to a model, which gets the context of no server", async () => {
    const clients = new CallingClients("shop");
    const { client, questions } = recording();
    for (const question of [PERSON, MODEL]) {
      await clients.during(client, () => clients.ask(question));
    }
    expect(questions).toMatchObject([
      { params: { message: 'The MCP server "shop" asks:\n\nYour name?' } },
      { params: { systemPrompt: 'The MCP server "shop" asks:\n\nYou are Byref.' } },
    ]);
    expect(questions[1]?.params).not.toHaveProperty("includeContext");
  });
});

it.each([
  [{}, false, false],
  [{ elicitation: {} }, true, false],
  [{ elicitation: { form: {} } }, true, false],
  [{ elicitation: { url: {} } }, false, true],
  [{ elicitation: { form: {}, url: {} } }, true, true],
])("a client that declares %j answers by form: %s, by address: %s", (declared, form, url) => {
  const params = { mode: "url", message: "Pay", url: "https://a.example/", elicitationId: "1" };
  const address = { method: "elicitation/create", params } as const as InputRequest;
  expect([answers(declared, PERSON), answers(declared, address)]).toEqual([form, url]);
});

it("a server gets the client's _meta without what is the gateway's own", () => {
  const task = { "io.modelcontextprotocol/related-task": { taskId: "1" } };
  const _meta = { "a/b": 1, "byref/own": 2, progressToken: 3, ...task };
  const { meta } = waitingOf({ mcpReq: { _meta, signal } } as unknown as ServerContext);
  expect(meta).toEqual({ "a/b": 1 });
});

it("a client with capabilities that are none is refused, and servers answer all others", async () => {
  const make = () => new McpServer({ name: "shop", version: "1" });
  const { client, gateway } = await startGateway([{ name: "shop", make }]);
  for (const capabilities of [{ sampling: 5 }, { sampling: { tools: 5 } }, { elicitation: null }]) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await gatewayServer(gateway, "legacy").connect(far);
    const refused = new Promise((answer) => {
      near.onmessage = answer;
    });
    const params = { protocolVersion: "2025-06-18", capabilities, clientInfo: INFO };
    await near.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    expect(await refused).toMatchObject({ id: 1, error: {} });
  }
  await client.listTools();
  expect(gateway.status).toEqual([{ name: "shop", state: "connected" }]);
});
