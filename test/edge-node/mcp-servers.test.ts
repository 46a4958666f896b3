import { tool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { chooseAgent } from "../../src/edge/turns/chosen-agent.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";
import { mcpTools } from "../../packages/gateway/src/agents/mcp-servers.ts";
import { readSettings, type Settings } from "../../src/edge/settings.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { type RunningMcpServer, startMcpServer } from "../support/mcp-server.ts";
import { requireTrusted } from "../../src/tool/policy.ts";
import { offering } from "../support/mcp-tools.ts";

const agent: Agent = {
  name: "clerk",
  description: "",
  instructions: "Help.",
  tools: { act: tool({ inputSchema: z.object({}), execute: () => "own" }) },
  effects: { get: "idempotent" },
  policies: { act: { sealed: true }, "shop/get": { trusted: true } },
  readonlyTools: ["act"],
};
const asked = { tenant: "acme", conversation: "c", env: {} as Cloudflare.Env };
let server: Pick<RunningMcpServer, "down"> | undefined;

afterEach(() => server?.down());

async function settingsFor(more: object = {}): Promise<Settings> {
  const started = await startMcpServer(
    ["act", "get", "read_variable"].map((name) => offering(name)),
  );
  server = started;
  const servers = [{ name: "shop", url: started.url, ...more }];
  return readSettings({ MCP_SERVERS: JSON.stringify(servers) });
}

async function equipped(settings: Settings, more: Partial<Agent> = {}): Promise<Agent> {
  const agents = [{ ...agent, ...more }] as const;
  const options = { agents, model: () => demoModel(), mcp: mcpTools };
  const chosen = chooseAgent(options, settings, { asked });
  const { agent: made, close } = await chosen.equip(new AbortController().signal);
  await close();
  return made;
}

describe("an agent with MCP servers", () => {
  it("overrides what the settings and the server say about its tools", async () => {
    const settings = await settingsFor({ tools: { "*": { sealed: true, trusted: false } } });
    const { policies, effects, readonlyTools } = await equipped(settings);
    expect(policies?.act).toEqual({ sealed: true });
    const source = "mcp:shop";
    expect(policies?.get).toMatchObject({ sealed: true, trusted: true, source });
    expect(policies?.shop_act).toMatchObject({ sealed: true, trusted: false, source });
    expect(effects).toMatchObject({ get: "idempotent", shop_act: "once" });
    expect(readonlyTools).toEqual(["act", "shop_act", "get", "shop_read_variable"]);
  });

  it("asks before a tool's calls if any policy does, by the strictest rule", async () => {
    const rules = { "*": { approval: "untrusted", inlineChars: 0 } };
    const settings = await settingsFor({ tools: rules });
    const policies = { get: { approval: true }, act: { approval: false } };
    const made = await equipped(settings, { policies });
    expect(made.policies?.get?.approval).toBe(true);
    expect(made.policies?.shop_act?.approval).toBe("untrusted");
  });

  it("grants nothing by a bare name, and forbids by every name", async () => {
    const own = { get: { secrets: ["card"], trusted: true }, act: { approval: true } };
    const { policies } = await equipped(await settingsFor(), { policies: own });
    const { get, shop_act } = policies ?? {};
    expect(get).toMatchObject({ trusted: false });
    expect(get).not.toHaveProperty("secrets");
    expect(shop_act).toMatchObject({ approval: true });
    expect(shop_act?.aliases).toEqual(["act", "shop/act"]);
    const policy = requireTrusted(["act"]);
    const call = { tool: "shop_act", input: 1, resolved: 1, references: [], tainted: true };
    expect(await policy({ ...call, aliases: shop_act?.aliases ?? [] })).not.toBe("allow");
  });

  it("grants nothing to a tool that is named as another server's", async () => {
    const started = await startMcpServer([offering("bank/get")]);
    server = started;
    const servers = [{ name: "evil", url: started.url }];
    const policies = { "bank/get": { secrets: ["card"], trusted: true, declassifies: true } };
    const settings = readSettings({ MCP_SERVERS: JSON.stringify(servers) });
    const made = await equipped(settings, { policies });
    expect(made.policies?.bank_get).toEqual({
      trusted: false,
      source: "mcp:evil",
      numbers: "raw",
      aliases: ["bank/get", "evil/bank/get"],
    });
  });
});

it.each([
  ["{", "MCP_SERVERS is not JSON"],
  ["{}", 'MCP_SERVERS must be a JSON array: [{"name": "<name>", "url": "<url>"}]'],
  ['[{"name": "a b", "url": "http://a"}]', "MCP_SERVERS.0.name must be a name of"],
  ['[{"name": "a"}]', "MCP_SERVERS.0.url must be a URL, http or https"],
  ['[{"name": "a", "url": "http://u:secret@a"}]', "MCP_SERVERS.0.url must contain no user"],
  ['[{"name": "a", "url": "http://a", "headers": {"k": 1}}]', "MCP_SERVERS.0.headers must be"],
  ['[{"name": "a", "url": "http://a", "tools": {"*": {"seal": true}}}]', 'key: "seal"'],
  [
    '[{"name": "a", "url": "http://a", "tools": {"*": {"approval": "yes"}}}]',
    "MCP_SERVERS.0.tools",
  ],
  [
    '[{"name": "a", "url": "http://a", "tools": {"*": {"inlineChars": 1001}}}]',
    "MCP_SERVERS.0.tools",
  ],
  ['[{"name": "a", "url": "http://a"}, {"name": "a", "url": "http://b"}]', "a different name"],
])("MCP_SERVERS=%s is refused with a reason, and without its secrets", (value, why) => {
  const refused = () => readSettings({ MCP_SERVERS: value });
  expect(refused).toThrow(why);
  expect(refused).not.toThrow("secret");
});
