import { McpServer, type Server } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { gatewayServer } from "../src/gateway-server.ts";
import type { Gateway } from "../src/gateway.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";
import { slow } from "../../../test/support/slow.ts";

/** Creates a server whose tool writes to its log. */
function talking(): McpServer {
  const server = new McpServer({ name: "talker", version: "1" }, { capabilities: { logging: {} } });
  server.registerTool("talk", { inputSchema: z.object({}) }, async (_input, { mcpReq }) => {
    await mcpReq.log("debug", "a detail");
    await mcpReq.log("warning", "a warning", "talker");
    return { content: [] };
  });
  return server;
}

it("lines of a server's log reach the client whose call is running, from the level that it has set", async () => {
  const { client, call } = await startGateway([{ name: "talker", make: talking }]);
  const lines: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => {
    lines.push(params);
  });
  await call("talk");
  await client.setLoggingLevel("warning");
  await call("talk");
  await vi.waitFor(() => {
    expect(lines).toEqual([
      { level: "debug", data: "a detail" },
      { level: "warning", data: "a warning", logger: "talker" },
      { level: "warning", data: "a warning", logger: "talker" },
    ]);
  });
});

/** Creates a server with one resource and one prompt, which can change. */
function changing() {
  const open: Server[] = [];
  const ended: string[] = [];
  const make = () => {
    const server = new McpServer(
      { name: "changing", version: "1" },
      {
        capabilities: {
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
        },
      },
    );
    server.registerResource("page", "test://page", {}, (uri) => ({
      contents: [{ uri: uri.href, text: "a page" }],
    }));
    server.registerPrompt("greet", { argsSchema: z.object({}) }, () => ({
      messages: [{ role: "user", content: { type: "text", text: "Greet." } }],
    }));
    server.server.setRequestHandler("resources/subscribe", () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      ended.push(params.uri);
      return {};
    });
    open.push(server.server);
    return server;
  };
  return { open, make, ended };
}

/** Connects another client. */
async function connected(gateway: Gateway): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await gatewayServer(gateway, "legacy").connect(far);
  const client = new Client({ name: "other", version: "1" });
  await client.connect(near);
  return client;
}

describe("changes at a server", () => {
  it("reach only the client that has subscribed to the resource", async () => {
    const { open, make } = changing();
    const { client } = await startGateway([{ name: "changing", make }]);
    const updated: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      updated.push(params.uri);
    });
    await client.listResources();
    await open[0]?.sendResourceUpdated({ uri: "test://page" });
    await client.subscribeResource({ uri: "test://page" });
    await open[0]?.sendResourceUpdated({ uri: "test://page" });
    await open[0]?.sendResourceUpdated({ uri: "test://other" });
    await client.unsubscribeResource({ uri: "test://page" });
    await open[0]?.sendResourceUpdated({ uri: "test://page" });
    await expect(client.subscribeResource({ uri: "ui://nothing" })).rejects.toThrow("There is no");
    expect(updated).toEqual(["test://page"]);
  });

  // DonaldMurillo/gofastr#296, modelcontextprotocol/servers#4798.
  it("are sent by the server as long as one of the clients watches the resource", async () => {
    const { make, ended } = changing();
    const { client, gateway } = await startGateway([{ name: "changing", make }]);
    const others = await Promise.all([1, 2].map(() => connected(gateway)));
    const uri = "test://page";
    for (const one of [client, ...others]) await one.subscribeResource({ uri });
    await client.unsubscribeResource({ uri });
    await others[0]?.close();
    expect(ended).toEqual([]);
    await others[1]?.unsubscribeResource({ uri });
    expect(ended).toEqual([uri]);
  });

  it("of its lists reach all clients", slow, async () => {
    const { open, make } = changing();
    const { client } = await startGateway([{ name: "changing", make }]);
    const changed: string[] = [];
    for (const list of ["prompts", "resources"] as const) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => {
        changed.push(list);
      });
    }
    await client.listPrompts();
    await open[0]?.sendPromptListChanged();
    await open[0]?.sendResourceListChanged();
    await vi.waitFor(() => expect(changed).toEqual(["prompts", "resources"]));
  });
});

/** Creates a server with the same resource and template as others, and a result and a prompt that name unlisted ones. */
const naming = (name: string) => ({
  name,
  make: () => {
    const link = { type: "resource_link", uri: "report://7", name: "report" };
    const content = [link, { type: "resource", resource: { uri: `${name}://page`, text: "" } }];
    const messages = content.map((part) => ({ role: "user", content: part }));
    const template = { name: "page", uriTemplate: "file:///pages/{id}" };
    return new RawServer({
      "tools/list": () => ({ tools: [{ name: "act", inputSchema: { type: "object" } }] }),
      "tools/call": () => ({ content }),
      "prompts/list": () => ({ prompts: [{ name: "ask" }] }),
      "prompts/get": () => ({ messages }),
      "resources/list": () => ({ resources: [{ name: "readme", uri: "file:///readme" }] }),
      "resources/templates/list": () => ({ resourceTemplates: [template] }),
      "resources/read": ({ uri }) => ({ contents: [{ uri, text: `${name}: ${uri}` }] }),
    });
  },
});

describe.each(["modern", "legacy"] as const)("resources of several servers, %s,", (era) => {
  const open = async (...names: readonly string[]) => {
    const { client, call } = await startGateway(names.map(naming), { era });
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      return contents.map((one) => [one.uri, "text" in one ? one.text : ""]);
    };
    return { client, call, read };
  };

  it("are all listed, and read from their own server even if their addresses are equal", async () => {
    const { client, read } = await open("one", "two", "the third");
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri).filter((uri) => uri.endsWith("/readme"));
    const prefixes = ["", "byref://servers/two/", "byref://servers/the%20third/"];
    expect(uris).toEqual(prefixes.map((prefix) => `${prefix}file:///readme`));
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "byref://variables/{name}{?path,offset,limit}",
      ...prefixes.map((prefix) => `${prefix}file:///pages/{id}`),
    ]);
    const own = "byref://servers/two/file:///pages/7";
    expect(await read("file:///readme")).toEqual([["file:///readme", "one: file:///readme"]]);
    expect(await read(own)).toEqual([[own, "two: file:///pages/7"]]);
    expect(await read(uris[2] ?? "")).toEqual([[uris[2], "the third: file:///readme"]]);
    await expect(read("byref://servers/four/file:///readme")).rejects.toThrow("There is no");
  });

  // mcp-hangar/mcp-hangar#1021, google-gemini/gemini-cli#28128.
  it("are read from the server whose result or prompt names them, if no list has them", async () => {
    const { client, call, read } = await open("one", "two");
    await expect(read("report://7")).rejects.toThrow("There is no resource report://7.");
    const { messages } = await client.getPrompt({ name: "two__ask" });
    const { content } = await call("act");
    const uris = [...messages.map((message) => message.content), ...content].map((part) =>
      part.type === "resource" ? part.resource.uri : "uri" in part && part.uri,
    );
    const expected = ["two", "one"].flatMap((name) => {
      const own = ["report://7", `${name}://page`];
      return own.map((uri) => ({ uri: `byref://servers/${name}/${uri}`, text: `${name}: ${uri}` }));
    });
    expect(uris).toEqual(expected.map(({ uri }) => uri));
    for (const { uri, text } of expected) expect(await read(uri)).toEqual([[uri, text]]);
  });

  it("are read from the only server without having been named", async () => {
    const { read } = await open("one");
    expect(await read("report://8")).toEqual([["report://8", "one: report://8"]]);
  });
});

it("prompts of several servers keep their names when a server is down, and are not listed for each use", async () => {
  let listed = 0;
  let isDown = false;
  const first = () => {
    if (isDown) throw new Error("It is down.");
    return changing().make();
  };
  const second = () => {
    const made = changing().make();
    made.server.setRequestHandler("prompts/list", () => {
      listed++;
      return { prompts: [{ name: "greet" }] };
    });
    return made;
  };
  const { client, gateway } = await startGateway([
    { name: "first", make: first },
    { name: "second", make: second },
  ]);
  const names = async () => (await client.listPrompts()).prompts.map(({ name }) => name);
  expect(await names()).toEqual(["greet", "second__greet"]);
  isDown = true;
  await gateway.upstreams[0]?.disconnect();
  expect(await names()).toEqual(["second__greet"]);
  expect(JSON.stringify(await client.getPrompt({ name: "second__greet" }))).toContain("Greet.");
  expect(listed).toBe(2);
  await expect(client.getPrompt({ name: "greet" })).rejects.toThrow("There is no prompt greet");
  expect(listed).toBe(3);
});
