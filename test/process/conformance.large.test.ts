import { execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conformanceServer } from "../support/conformance-server.ts";
import { temporaryFolder } from "../support/server.ts";

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly errorMessage?: string;
}

/** The protocol's own test suite, with the server alone and behind the gateway. */
describe("the conformance suite", () => {
  const folder = temporaryFolder();
  const alone = listening();
  let gateway: ReturnType<typeof spawn> | undefined;
  let results: { alone: Map<string, string[]>; behind: Map<string, string[]> };

  beforeAll(async () => {
    cpSync(join(import.meta.dirname, "conformance"), join(folder, "suite"), { recursive: true });
    // With the environment of this process, which may name a registry.
    execFileSync("npm", ["ci"], { cwd: join(folder, "suite"), stdio: "pipe" });
    const url = await alone.url;
    const config = join(folder, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { conformance: { url } } }));
    const main = join(import.meta.dirname, "../../packages/gateway/src/cli/main.ts");
    const state = join(folder, "state");
    const parameters = [main, "mcp", "--config", config, "--state", state, "--http", "0"];
    const started = spawn(process.execPath, parameters, { stdio: ["ignore", "ignore", "pipe"] });
    gateway = started;
    let front = "";
    for await (const line of createInterface({ input: started.stderr })) {
      front = /http:\S+/u.exec(line)?.[0] ?? "";
      if (front !== "") break;
    }
    started.stderr.resume();
    results = { alone: await failuresOf(url, "alone"), behind: await failuresOf(front, "behind") };
  });

  afterAll(async () => {
    gateway?.kill("SIGKILL");
    await alone.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("passes against the server alone", () => {
    // The server stores no events, and leaves protection against DNS rebinding to its deployment.
    const expected = ["dns-rebinding-protection"];
    expect([...results.alone].filter(([, failed]) => failed.length > 0)).toEqual(
      expected.map((scenario) => [scenario, expect.anything()]),
    );
    expect(results.alone.size).toBeGreaterThan(28);
  });

  it("passes through the gateway, which adds DNS rebinding protection", () => {
    expect([...results.behind.keys()]).toEqual([...results.alone.keys()]);
    expect([...results.behind].filter(([, failed]) => failed.length > 0)).toEqual([]);
  });

  /** Returns the failed checks of each scenario. */
  async function failuresOf(url: string, name: string): Promise<Map<string, string[]>> {
    const program = "suite/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    const output = join(folder, name);
    const parameters = [join(folder, program), "server", "--url", url, "--output-dir", output];
    // The program exits with an error if a scenario fails.
    await new Promise((done) => execFile(process.execPath, parameters, done));
    const scenarios = readdirSync(output).toSorted();
    return new Map(
      scenarios.map((scenario) => {
        const file = join(output, scenario, "checks.json");
        const checks = JSON.parse(readFileSync(file, "utf8")) as Check[];
        const failed = checks.filter(({ status }) => status === "FAILURE");
        const label = scenario.replace(/^server-/, "").replace(/-\d{4}-.*$/, "");
        return [label, failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`)];
      }),
    );
  }
});

/** The suite's server over HTTP, with sessions. */
function listening() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const http = createServer((request, response) => {
    void (async () => {
      const id = String(request.headers["mcp-session-id"] ?? "");
      const transport = sessions.get(id) ?? (await begun());
      await transport.handleRequest(request, response);
    })();
  });
  const begun = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    // The library's own types disagree under exactOptionalPropertyTypes.
    await conformanceServer().connect(transport as never);
    return transport;
  };
  http.listen(0, "127.0.0.1");
  const url = once(http, "listening").then(
    () => `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
  );
  return {
    url,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}
