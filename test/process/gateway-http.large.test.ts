import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  EVERYTHING,
  FILESYSTEM,
  gatewayCommand,
  startHttpGateway,
  textIn,
} from "../support/gateway-process.ts";
import { listedTools } from "../support/listed-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-http-"));
const files = join(folder, "files");
mkdirSync(files);
const command = gatewayCommand(folder, {
  files: [...FILESYSTEM, files],
  everything: EVERYTHING,
});

let gateway: ChildProcess;
let url: string;

beforeAll(async () => {
  ({ gateway, url } = await startHttpGateway(command));
});

afterAll(async () => {
  if (gateway.exitCode !== null) return;
  gateway.kill();
  await once(gateway, "exit");
});

async function connected(mode: "auto" | "legacy", fetchAs = fetch): Promise<Client> {
  const capabilities = { elicitation: { form: {} } };
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode }, capabilities },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetchAs }));
  return client;
}

it.each(["auto", "legacy"] as const)(
  "byref mcp --http lists the tools of all servers, and keeps the digits of arguments, for a client of the %s era",
  async (mode) => {
    const digits = "12345678901234567";
    const client = await connected(mode, (place, init) => {
      const body = String(init?.body).replace(`"${digits}"`, digits);
      return fetch(place, init?.body === undefined ? init : { ...init, body });
    });
    await listedTools(client, ["write_file", "echo", "list_variables"]);
    const echoed = await client.callTool({ name: "echo", arguments: { message: digits } });
    expect(textIn(echoed)).toBe(`Echo: ${digits}`);
    await client.close();
  },
);

describe("byref mcp --http", () => {
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const json = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };

  it.each([
    ["a host name that a website owns", 403, { ...json, host: "evil.example" }],
    ["a website", 403, { ...json, origin: "https://evil.example" }],
    ["a local HTML file", 403, { ...json, origin: "null" }],
    [
      "a website's form",
      403,
      { ...json, "content-type": "text/plain", origin: "http://a.example" },
    ],
    ["a client that sends text/plain", 415, { ...json, "content-type": "text/plain" }],
    ["a program", 200, json],
    ["what is no JSON", 400, json, "{"],
    ["what has too many bytes", 413, { ...json, "content-length": "1000000000" }],
  ])("answers %s with %i", async (_what, status, headers, body = ping) => {
    expect(await statusOf({ headers }, body)).toBe(status);
  });

  it("ends on SIGTERM while a client is waiting", async () => {
    const client = await connected("auto");
    const input = { duration: 60, steps: 60 };
    const seen = Promise.withResolvers<void>();
    const waiting = client.callTool(
      { name: "trigger-long-running-operation", arguments: input },
      { onprogress: () => seen.resolve() },
    );
    await seen.promise;
    gateway.kill();
    expect(textIn(await waiting)).toMatch(/^outcome_unknown|^server_unavailable/u);
    if (gateway.exitCode === null) await once(gateway, "exit");
    await client.close();
  });

  /** `fetch` sets its own `Host`. */
  async function statusOf(options: Parameters<typeof request>[1] & object, body: string) {
    const sent = request(url, { method: "POST", ...options });
    sent.write(body);
    if (!("content-length" in (options.headers ?? {}))) sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.destroy();
    return response.statusCode ?? 0;
  }
});
