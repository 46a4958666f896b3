import { rmSync } from "node:fs";
import { Client, type Tool } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gatewayCommand } from "../support/gateway-process.ts";
import { installPublished, publishedServers } from "../support/published-servers.ts";
import { temporaryFolder } from "../support/server.ts";
import { sampleStep } from "../support/slow.ts";

const folder = temporaryFolder();
/** A shortened run takes every third of them. */
const servers = publishedServers(folder, sampleStep === 1 ? 1 : 3);
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

beforeAll(() => installPublished(folder));

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
