import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readConfiguration } from "../../packages/gateway/src/configuration.ts";
import { joinedRules } from "../../packages/gateway/src/servers/server-rules.ts";
import { gatewayServer } from "../../packages/gateway/src/gateway-server.ts";
import { startGateway } from "../support/gateway.ts";

const guide = readFileSync("docs/guides/gateway.md", "utf8");
const blocks = [...guide.matchAll(/```json\n(.*?)```/gsu)].map(([, text = ""]) => text);

describe("docs/guides/gateway.md", () => {
  it("has configurations that the gateway accepts", () => {
    const read = blocks.map((text) => readConfiguration(text, { CRM_TOKEN: "t" }));
    expect(read.map((servers) => servers.map(({ name }) => name))).toEqual([
      ["byref"],
      ["files", "crm"],
      ["crm"],
      ["byref"],
    ]);
    // The first configuration is a client's, and starts the gateway.
    const [[gateway] = [], ...others] = read;
    expect(gateway?.problem).toBe("It is a gateway itself.");
    expect(others.flat().every(({ problem }) => problem === undefined)).toBe(true);
  });

  it("has rules that behave as in the table", () => {
    const [crm] = readConfiguration(blocks[2] ?? "");
    if (crm === undefined) throw new Error("It has no server.");
    expect(joinedRules(crm, "get_secret_key")).toEqual({ sealed: true, trusted: true });
    expect(joinedRules(crm, "delete_all")).toEqual({ approval: true, trusted: true });
    expect(joinedRules(crm, "send_mail")).toEqual({ approval: "untrusted", trusted: true });
    expect(joinedRules(crm, "list")).toEqual({ trusted: true });
  });

  it("names the gateway's own tools", async () => {
    const { client, gateway } = await startGateway([]);
    expect(gatewayServer(gateway, "modern").getCapabilities()).toMatchObject({
      tools: {},
    });
    const { tools } = await client.listTools();
    for (const { name } of tools) expect(guide).toContain(`\`${name}\``);
  });
});
