import { describe, expect, it } from "vitest";
import { filterOf, isAllowed, readConfiguration, unusableBecause } from "../src/configuration.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { toolServer } from "../../../test/support/raw-server.ts";

const TOOLS = ["get", "put", "drop"];
const make = () => toolServer(TOOLS);

describe("the tools of an entry", () => {
  it.each([
    ["without a filter", {}, TOOLS],
    // Roo, Kiro, Windsurf, Antigravity.
    ["with disabledTools", { disabledTools: ["drop", "other"] }, ["get", "put"]],
    ["with none disabled", { disabledTools: [], excludeTools: null }, TOOLS],
    ["with all disabled", { disabledTools: ["*"] }, []],
    // Gemini CLI, Qwen Code.
    ["with excludeTools", { excludeTools: ["drop"] }, ["get", "put"]],
    ["with includeTools", { includeTools: ["get", "put(path)"] }, ["get", "put"]],
    ["with both", { includeTools: ["get", "drop"], excludeTools: ["drop"] }, ["get"]],
    ["with an empty list", { includeTools: [] }, []],
    // Copilot.
    ["with tools", { tools: ["get"] }, ["get"]],
    ["with all tools", { tools: ["*"] }, TOOLS],
    ["with no tools", { tools: [] }, []],
    ["with a pattern, which is a name", { includeTools: ["*"], tools: ["g*"] }, []],
    ["with two lists", { includeTools: ["get", "put"], tools: ["put", "drop"] }, ["put"]],
  ])("%s are offered as the client offers them", async (_what, entry, offered) => {
    const filter = filterOf(entry);
    expect(TOOLS.filter((tool) => isAllowed(filter, tool))).toEqual(offered);
    const [server] = readConfiguration(
      JSON.stringify({ servers: { a: { command: "x", ...entry } } }),
    );
    expect(server?.filter).toEqual(filter);
    const { client, call } = await startGateway([{ name: "a", make, ...(filter && { filter }) }]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).filter((name) => TOOLS.includes(name))).toEqual(offered);
    for (const tool of TOOLS) {
      const called = await call(tool).then(({ content }) => content, String);
      if (offered.includes(tool)) expect(called).toMatchObject([{ text: tool }]);
      else expect(called).toContain(`There is no tool ${tool}.`);
    }
  });

  it.each([
    ["disabledTools", "drop"],
    ["excludeTools", { drop: true }],
    ["includeTools", [1]],
    ["tools", { get: {} }],
  ])("are not offered if %s cannot be read", (key, value) => {
    const entry = { command: "x", [key]: value };
    const why = `Its "${key}" is no list of names of tools.`;
    expect(unusableBecause(entry)).toBe(why);
    expect(readConfiguration(JSON.stringify({ servers: { a: entry } }))[0]?.problem).toBe(why);
  });
});

it.each([{ disabled: true }, { enabled: false }, { isActive: false }])(
  "a server that is turned off is not started: %j",
  (entry) => {
    const text = JSON.stringify({ mcpServers: { a: { command: "x", ...entry } } });
    expect(readConfiguration(text)).toEqual([]);
  },
);
