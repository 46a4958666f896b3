import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client, type Tool } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EVERYTHING, FILESYSTEM, gatewayCommand, MEMORY } from "../support/gateway-process.ts";
import { temporaryFolder } from "../support/server.ts";
import { sampleStep } from "../support/slow.ts";

/** Servers from npm that start without a network, with their arguments. */
const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  airtable: ["airtable-mcp-server"],
  brave: ["mcp-server-brave-search"],
  brave_2: ["brave-search-mcp-server"],
  chart: ["mcp-server-chart"],
  chrome: ["chrome-devtools-mcp"],
  context7: ["context7-mcp"],
  duckduckgo: ["duckduckgo-mcp-server"],
  everart: ["mcp-server-everart"],
  figma: ["figma-developer-mcp", "--stdio"],
  firecrawl: ["firecrawl-mcp"],
  github: ["mcp-server-github"],
  gitlab: ["mcp-server-gitlab"],
  maps: ["mcp-server-google-maps"],
  notion: ["notion-mcp-server"],
  postgres: ["mcp-server-postgres", "postgresql://127.0.0.1:1/none"],
  searxng: ["mcp-searxng"],
  slack: ["mcp-server-slack"],
  tavily: ["tavily-mcp"],
  thinking: ["mcp-server-sequential-thinking"],
};

/** They start with any key, and are asked for lists only. */
const KEYS = [
  "AIRTABLE_API_KEY",
  "BRAVE_API_KEY",
  "EVERART_API_KEY",
  "FIGMA_API_KEY",
  "FIRECRAWL_API_KEY",
  "GITLAB_PERSONAL_ACCESS_TOKEN",
  "GOOGLE_MAPS_API_KEY",
  "NOTION_TOKEN",
  "SLACK_BOT_TOKEN",
  "SLACK_TEAM_ID",
  "TAVILY_API_KEY",
].map((name) => `${name}=none`);

const folder = temporaryFolder();
const bin = join(folder, "servers/node_modules/.bin");
/** A shortened run takes every third of them. */
const chosen = Object.entries(PUBLISHED).filter((_, index) => sampleStep === 1 || index % 3 === 0);
const servers: Readonly<Record<string, readonly string[]>> = {
  everything: EVERYTHING,
  filesystem: [...FILESYSTEM, folder],
  memory: MEMORY,
  ...Object.fromEntries(
    chosen.map(([name, [program = "", ...args]]) => [
      name,
      ["env", ...KEYS, "SEARXNG_URL=http://127.0.0.1:1", join(bin, program), ...args],
    ]),
  ),
};
const count = Object.keys(servers).length;

/** What a client lists. */
interface Lists {
  readonly tools: readonly Tool[];
  readonly others: Readonly<Record<string, readonly object[]>>;
}

async function listsOf([command = "", ...args]: readonly string[]): Promise<Lists> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  // A server whose database is away has no list.
  const none = () => ({ prompts: [], resources: [], resourceTemplates: [] });
  const lists = {
    tools: tools === undefined ? [] : (await client.listTools()).tools,
    others: {
      prompts: prompts === undefined ? [] : (await client.listPrompts().catch(none)).prompts,
      resources:
        resources === undefined ? [] : (await client.listResources().catch(none)).resources,
      templates:
        resources === undefined
          ? []
          : (await client.listResourceTemplates().catch(none)).resourceTemplates,
    },
  };
  await client.close();
  return lists;
}

/** The rules of the guide: no `outputSchema`, no tasks, and any parameter may be a reference. */
function withoutRules({ inputSchema, ...given }: Tool): object {
  const { outputSchema: _outputSchema, execution: _execution, ...tool } = given;
  const { properties = {}, required = [] } = inputSchema;
  return { ...tool, parameters: Object.keys(properties), required };
}

beforeAll(() => {
  mkdirSync(join(folder, "servers"));
  cpSync(join(import.meta.dirname, "mcp-servers"), join(folder, "servers"), { recursive: true });
  // With the environment of this process, which may name a registry.
  execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: join(folder, "servers"), stdio: "pipe" });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it(`${count} published servers list through the gateway what they list directly`, async () => {
  const direct = new Map<string, Lists>();
  for (const [name, command] of Object.entries(servers)) direct.set(name, await listsOf(command));
  const { command, args } = gatewayCommand(folder, servers);
  const through = await listsOf([command, ...args]);

  const given = new Map(through.tools.map((tool) => [tool.name, tool]));
  const seen = new Set<string>();
  for (const [server, { tools }] of direct) {
    for (const tool of tools) {
      // The guide: of several tools with one name, those after the first have their server's name before theirs.
      const name = seen.has(tool.name) ? `${server}__${tool.name}` : tool.name;
      seen.add(name);
      const offered = given.get(name);
      expect(offered && withoutRules({ ...offered, name: tool.name })).toEqual(withoutRules(tool));
      expect(isValid(offered, referencesTo(tool)), `${name} takes references`).toBe(true);
    }
  }
  const own = ["list_variables", "read_variable", "edit_variable", "query_variables"];
  expect([...given.keys()].filter((name) => !seen.has(name))).toEqual(own);
  expect(seen.size).toBeGreaterThan(count * 6);

  for (const kind of ["prompts", "resources", "templates"]) {
    const expected = [...direct.values()].flatMap(({ others }) => others[kind] ?? []);
    const ofServers = through.others[kind]?.filter(
      (one) => !JSON.stringify(one).includes("byref:"),
    );
    expect(ofServers).toEqual(expected);
  }
});

/** An input in which each parameter that is required is a reference. */
function referencesTo({ inputSchema: { required = [] } }: Tool): object {
  return Object.fromEntries(required.map((name) => [name, "$value"]));
}

/** By the draft that the schema says, as clients and providers read it. */
function isValid(tool: Tool | undefined, input: object): boolean {
  const schema = tool?.inputSchema ?? { type: "object", not: {} };
  const isDraft7 = String(schema.$schema ?? "").includes("draft-07");
  const options = { strict: false, validateFormats: false };
  const ajv = isDraft7 ? new Ajv(options) : new Ajv2020(options);
  return ajv.validate(schema, input);
}
