import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { mcpTools } from "../../packages/gateway/src/agents/mcp-servers.ts";
import { readSettings } from "../../src/edge/settings.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { blockOf } from "../support/fences.ts";
import {
  failure,
  type RunningMcpServer,
  startMcpServer,
  structured,
  textResult,
} from "../support/mcp-server.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/mcp.md"), "utf8");
const rows = [{ id: "o1" }, { id: "o2" }];
let shop: RunningMcpServer;
let mail: RunningMcpServer;

beforeAll(async () => {
  shop = await startMcpServer([
    { name: "get_orders", answer: () => structured({ rows }) },
    { name: "get_customer", answer: () => textResult('"Ada"') },
    { name: "delete_order", answer: () => textResult("gone") },
    { name: "list", answer: () => failure("It knows Bearer 0123456789.") },
  ]);
  mail = await startMcpServer([
    { name: "send_mail", answer: () => textResult("sent") },
    { name: "list", answer: () => textResult("[1]") },
  ]);
});

afterAll(() => Promise.all([shop?.down(), mail?.down()]));

/** Connects an agent to the guide's servers, which have other addresses here. */
async function equipped(more: Partial<Agent> = {}) {
  const MCP_SERVERS = blockOf(guide, "json")
    .replace("https://shop.example/mcp", shop.url)
    .replace("https://mail.example/mcp", mail.url);
  const clerk: Agent = { name: "clerk", description: "", instructions: "", tools: {}, ...more };
  return mcpTools(clerk, readSettings({ MCP_SERVERS }), new AbortController().signal);
}

it("the guide's servers have the described tools and policies", async () => {
  const { agent, close } = await equipped();
  const { policies = {}, tools } = agent;
  expect(Object.keys(tools)).toEqual([
    "get_orders",
    "get_customer",
    "delete_order",
    "shop_list",
    "send_mail",
    "mail_list",
  ]);
  expect(policies.get_orders).toMatchObject({ trusted: true });
  expect(policies.get_orders).not.toHaveProperty("sealed");
  expect(policies.get_customer).toMatchObject({ trusted: true, sealed: true });
  expect(policies.delete_order).toMatchObject({ trusted: false, approval: true });
  expect(policies.mail_list).toMatchObject({ trusted: false, source: "mcp:mail" });
  await close();
  const other = await equipped({ name: "other" });
  expect(Object.keys(other.agent.tools)).not.toContain("send_mail");
  await other.close();
});
