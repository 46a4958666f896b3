import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { Gateway } from "../src/gateway.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { connectDirectly, RawError, RawServer } from "../../../test/support/raw-server.ts";

const inputSchema = { type: "object" };
const good = [
  { name: "first", inputSchema },
  { name: "last", inputSchema },
];

const toolsOf = (list: object) => () => new RawServer({ "tools/list": () => list });
const among = (item: unknown) => ({ tools: [good[0], item, good[1]] });

/** The names of the server's tools, as a client lists them. */
async function namesIn(client: Client): Promise<readonly string[]> {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name).filter((name) => !name.includes("_variable"));
}

function deep(levels: number): object {
  let schema: object = inputSchema;
  for (let level = 0; level < levels; level++)
    schema = { ...inputSchema, properties: { a: schema } };
  return schema;
}

const leftOutBy = ({ status }: Gateway) => status.flatMap(({ leftOut = [] }) => leftOut);

describe("a tool that makes clients lose all tools of its server", () => {
  it.each([
    // mastra-ai/mastra#21859
    ["no schema", { name: "bad" }, "bad"],
    // MervinPraison/PraisonAI#3111
    ["null as a list", { name: "bad", inputSchema: { ...inputSchema, required: null } }, "bad"],
    ["no name", { inputSchema }, "number 2"],
    ["a schema of 10,000 levels", { name: "bad", inputSchema: deep(10_000) }, "bad"],
    // cognizant-ai-lab/neuro-san#1341
    ["nothing", null, "number 2"],
  ])("is left out, and named with the reason: %s", async (_what, item, name) => {
    const make = toolsOf(among(item));
    await expect((await connectDirectly(make())).listTools()).rejects.toThrow(
      /^(?:Invalid result|Maximum call)/u,
    );
    const { client, gateway, log } = await startGateway([{ name: "shop", make }]);
    expect(await namesIn(client)).toEqual(["first", "last"]);
    await client.listTools();
    expect(gateway.status).toMatchObject([{ name: "shop", state: "connected" }]);
    const why = expect.stringMatching(/Invalid input|more than 200 levels/u);
    expect(leftOutBy(gateway)).toEqual([{ kind: "tool", name, why }]);
    expect(log).toEqual([expect.stringMatching(`^Server shop: its tool ${name} is left out\\. .`)]);
    const { contents } = await client.readResource({ uri: "byref://status" });
    expect(contents).toMatchObject([{ text: expect.stringContaining("leftOut") }]);
  });

  it("is not waited for in a list without end", async () => {
    let page = 0;
    const list = () => ({
      tools: [{ name: `tool_${++page}`, inputSchema }],
      nextCursor: `${page}`,
    });
    const make = () => new RawServer({ "tools/list": list });
    const { client, gateway } = await startGateway([{ name: "shop", make }]);
    expect(await namesIn(client)).toHaveLength(64);
    expect(leftOutBy(gateway)).toMatchObject([{ why: "The list has more than 64 pages." }]);
  });

  it("is left out of the page that has it, until the server lists it well", async () => {
    let isMended = false;
    const make = () =>
      new RawServer({
        "tools/list": ({ cursor }) => {
          if (cursor === undefined) return { tools: [null, good[0]], nextCursor: "2" };
          return { tools: isMended ? good : [{ name: "last" }], nextCursor: null };
        },
      });
    const { client, gateway } = await startGateway([{ name: "shop", make }]);
    expect(await namesIn(client)).toEqual(["first"]);
    expect(leftOutBy(gateway).map(({ name }) => name)).toEqual(["number 1", "last"]);
    isMended = true;
    const [upstream] = gateway.upstreams;
    await upstream?.tools();
    expect(leftOutBy(gateway).map(({ name }) => name)).toEqual(["number 1"]);
  });
});

it.each([
  ["fails", "It is broken.", () => Promise.reject(new RawError("It is broken."))],
  ["is none", "The answer to tools/list does not follow MCP.", () => ({ tools: "none" })],
])("a server whose list %s is not connected until it can be read", async (_what, why, list) => {
  let isMended = false;
  const make = () => new RawServer({ "tools/list": () => (isMended ? { tools: good } : list()) });
  const { client, gateway } = await startGateway([{ name: "shop", make }]);
  expect(await namesIn(client)).toEqual([]);
  const reason = expect.stringContaining(why);
  expect(gateway.status).toEqual([{ name: "shop", state: "incomplete", why: reason }]);
  isMended = true;
  await client.listTools();
  expect(await namesIn(client)).toEqual(["first", "last"]);
  expect(gateway.status).toEqual([{ name: "shop", state: "connected" }]);
});
