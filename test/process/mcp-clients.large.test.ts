import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensurePage } from "../../scripts/page.ts";
import { EVERYTHING, gatewayCommand } from "../support/gateway-process.ts";
import { temporaryFolder } from "../support/server.ts";

const run = promisify(execFile);

/** Third-party clients from npm that use `byref mcp`. */
describe("byref mcp with other client packages", () => {
  const folder = temporaryFolder();
  const clients = join(folder, "clients");

  beforeAll(async () => {
    await ensurePage();
    cpSync(join(import.meta.dirname, "mcp-clients"), clients, { recursive: true });
    // With the environment of this process, which may name a registry.
    execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: clients, stdio: "pipe" });
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns the command with which a client starts the gateway, with a separate state. */
  function started(name: string, config?: string): string[] {
    const place = join(folder, name);
    mkdirSync(place);
    const { command, args } = gatewayCommand(place, { everything: EVERYTHING });
    return [command, ...args, ...(config === undefined ? [] : ["--config", config])];
  }

  it("@mastra/mcp passes a result on by reference", async () => {
    const program = join(clients, "mastra.mjs");
    const { stdout } = await run(process.execPath, [program, ...started("mastra")]);
    const { names, first, second, part } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as {
      names: string[];
      first: unknown;
      second: unknown;
      part: unknown;
    };
    expect(names).toEqual(expect.arrayContaining(["byref_echo", "byref_list_variables"]));
    const handles = JSON.stringify([first, second]);
    expect(handles).toContain("echo_2");
    expect(handles).not.toContain("mastra ".repeat(300));
    expect(JSON.stringify(part)).toContain("Echo: Echo: mastra");
  });

  it("the Inspector's command line lists tools, calls them and reads resources", async () => {
    const inspector =
      "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    const [command, ...args] = started("inspector");
    const config = join(folder, "inspector.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { byref: { command, args } } }));
    const env = { ...process.env, HOME: folder, MCP_INSPECTOR_SECRET_STORE: "memory" };
    const inspect = async (...parameters: string[]): Promise<string> => {
      const target = ["--cli", "--config", config, "--server", "byref"];
      const program = [join(clients, inspector), ...target, ...parameters];
      const { stdout, stderr } = await run(process.execPath, program, { env });
      expect(stderr).not.toContain("Error");
      return stdout;
    };
    const call = async (message: string) => {
      const parameters = ["--tool-name", "echo", "--tool-arg", `message=${message}`];
      return JSON.parse(await inspect("--method", "tools/call", ...parameters)) as object;
    };
    expect(await call("one")).toMatchObject({
      content: [{ type: "text", text: "Echo: one" }],
      _meta: { "byref/variable": { name: "echo_one" } },
    });
    // The Inspector sends texts where a schema has several types.
    const sum = ["--tool-name", "get-sum", "--tool-arg", "a=2", "--tool-arg", "b=3"];
    expect(await inspect("--method", "tools/call", ...sum)).toContain("The sum of 2 and 3 is 5.");
    // Another process reads the variable of the previous one.
    expect(await call("$echo_one!")).toMatchObject({ content: [{ text: "Echo: Echo: one!" }] });
    const read = await inspect("--method", "resources/read", "--uri", "byref://variables/echo_one");
    expect(JSON.parse(read)).toMatchObject({ contents: [{ text: "Echo: one" }] });
    const apps = await inspect("--method", "tools/list", "--advertise-apps", "--app-info");
    const shown = apps.split("\n").find((line) => line.includes("show_variable")) ?? "";
    expect(JSON.parse(shown)).toMatchObject({
      hasApp: true,
      resourceUri: "ui://byref/variable",
      resourceMimeType: "text/html;profile=mcp-app",
    });
  });
});
