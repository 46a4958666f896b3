import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Mark, processesMarked } from "../../scripts/tied-process.ts";
import { type ChatCompletions, startChatCompletions } from "../support/chat-completions.ts";
import {
  launch,
  type Server,
  startInVain,
  startServer,
  temporaryFolder,
} from "../support/server.ts";
import { post } from "../support/turn-client.ts";

/** Characters that a shell, an env file or dotenv could misread. */
const key = `sk-"double" 'single' $HOME \${PATH} \\$x a#b #hash =end`;
const otherAddresses = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, address }) => !internal && !address.startsWith("fe80"))
  .map(({ address }) => address);

/** The mark of a folder's processes. */
function markOf(folder: string): Mark {
  const { dev, ino } = statSync(join(folder, "lock.sqlite"), { bigint: true });
  return { BYREF_STATE_LOCK: `${dev}:${ino}` };
}

/** Sends headers that `fetch` does not allow. */
function get(port: number, headers: Record<string, string>, path = "/agents") {
  return new Promise<{ status: number | undefined; body: string }>((done, fail) => {
    const asked = request({ host: "127.0.0.1", port, path, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (body += chunk));
      response.on("end", () => done({ status: response.statusCode, body }));
    });
    asked.on("error", fail).end();
  });
}

describe("npm start", () => {
  const stateDir = temporaryFolder();
  let endpoint: ChatCompletions;
  let server: Server;
  let env: Record<string, string>;

  beforeAll(async () => {
    endpoint = await startChatCompletions();
    env = {
      STATE_DIR: stateDir,
      MODEL: "openai-compatible:test-model",
      MODEL_BASE_URL: endpoint.url,
      MODEL_API_KEY: key,
      SECRET_THING: "not-for-the-worker",
    };
    server = await startServer(env);
  });

  afterAll(async () => {
    await server?.stop();
    await endpoint?.down();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("passes a key on byte for byte, and never prints it", async () => {
    endpoint.play([{ kind: "text", text: "Hello." }]);
    const response = await post(`${server.url}/conversations/key`, "Hi", { accept: "text/plain" });
    expect(await response.text()).toBe("Hello.");
    expect(endpoint.requests.map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${key}`,
    ]);
    expect(server.output()).not.toContain("sk-");
  });

  it("listens on the loopback address only", async () => {
    expect((await fetch(`http://127.0.0.1:${server.port}/health`)).status).toBe(200);
    const cause = expect.objectContaining({ code: "ECONNREFUSED" });
    for (const address of otherAddresses) {
      const host = address.includes(":") ? `[${address}]` : address;
      await expect(fetch(`http://${host}:${server.port}/`)).rejects.toMatchObject({ cause });
    }
    if (otherAddresses.length > 0) return;
    const port = server.port.toString(16).toUpperCase().padStart(4, "0");
    const sockets = readFileSync("/proc/net/tcp", "utf8") + readFileSync("/proc/net/tcp6", "utf8");
    const listening = sockets.matchAll(new RegExp(`: ([0-9A-F]+):${port} [0-9A-F:]+ 0A`, "g"));
    expect(Array.from(listening, (match) => match[1])).toEqual(["0100007F"]);
  });

  // More names and origins: test/edge/auth/authentication.test.ts.
  it("answers its own pages on its own host, and no others", async () => {
    const host = `localhost:${server.port}`;
    const origin = `http://${host}`;
    expect(await get(server.port, { host, origin })).toMatchObject({ status: 200 });
    for (const foreign of [
      { host: `evil.example:${server.port}` },
      { host, origin: `http://localhost:${server.port + 1}` },
    ]) {
      const { status, body } = await get(server.port, foreign);
      expect(status).toBe(403);
      expect(JSON.parse(body)).toMatchObject({ status: 403, code: "foreign_origin" });
    }
  });

  it("answers on the inner port only with its secret", async () => {
    const { stdout } = spawnSync("ps", ["-eo", "args="], { encoding: "utf8" });
    const behind = stdout
      .split("\n")
      .filter((line) => line.includes(stateDir))
      .flatMap((line) => /--port=(\d+)/.exec(line)?.[1] ?? []);
    expect(behind.length).toBeGreaterThan(0);
    const host = `localhost:${behind[0]}`;
    for (const secret of [{}, { "x-byref-local": "guess" }]) {
      expect((await get(Number(behind[0]), { host, ...secret })).status).toBe(403);
    }
  });

  it("ends a query that would run for hours, answers meanwhile, and runs the next one", async () => {
    const conversation = `${server.url}/conversations/queries`;
    const json = { "content-type": "application/json" };
    const rows = JSON.stringify(Array.from({ length: 20_000 }, () => ({ same: 1 })));
    await fetch(`${conversation}/variables/rows`, { method: "PUT", headers: json, body: rows });
    const query = (from: string) =>
      fetch(`${conversation}/query`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ sql: `SELECT count(*) AS n FROM ${from}` }),
      });
    // Each search finds all rows, which the plan does not show.
    const hours = query("rows a JOIN rows b ON a.same = b.same JOIN rows c ON b.same = c.same");
    for (let answered = 0; answered < 5; answered++) {
      expect((await fetch(`${conversation}/variables`)).status).toBe(200);
      await setTimeout(500);
    }
    const early = await Promise.race([hours, setTimeout(0)]);
    expect(early).toBeUndefined();
    expect(await (await hours).json()).toMatchObject({ code: "query_too_expensive" });
    expect(await (await query("rows")).json()).toEqual([{ n: 20_000 }]);
  });

  it("refuses a second server with the same state, and names the first", async () => {
    const { code, output } = await startInVain({ STATE_DIR: stateDir });
    expect(code).toBe(1);
    expect(output).toMatch(new RegExp(`in use by process \\d+,.* port ${server.port}.*STATE_DIR`));
    expect(output.trim().split("\n")).toHaveLength(1);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

describe.concurrent("a stopped server", () => {
  it.each([
    { what: "Ctrl-C during its start", signal: "SIGINT", isReady: false },
    { what: "its terminal closes", signal: "SIGHUP", isReady: true },
  ] as const)("leaves nothing behind: $what", async ({ signal, isReady }) => {
    const stateDir = temporaryFolder();
    const run = await launch({ STATE_DIR: stateDir, MODEL_API_KEY: key });
    const path = join(stateDir, "lock.sqlite");
    await vi.waitFor(() =>
      expect(existsSync(path) ? processesMarked(markOf(stateDir)) : []).not.toEqual([]),
    );
    if (isReady) await run.readyUrl;
    const { survivors } = await run.stop(signal);
    const left = processesMarked(markOf(stateDir));
    rmSync(stateDir, { recursive: true, force: true });
    expect({ survivors, left }).toEqual({ survivors: 0, left: [] });
  });
});

describe("AUTH=bearer", () => {
  const acme = { authorization: "Bearer acme-key-0123456789" };
  let server: Server;

  beforeAll(async () => {
    const API_KEYS = '{"acme-key-0123456789": "acme", "rival-key-0123456789": "rival"}';
    server = await startServer({ AUTH: "bearer", API_KEYS });
  });

  afterAll(() => server?.stop());

  it("can be reached from other machines, by any name", async () => {
    const host = otherAddresses.find((address) => !address.includes(":"));
    if (host !== undefined) {
      expect((await fetch(`http://${host}:${server.port}/health`)).status).toBe(200);
    }
    expect(await get(server.port, { ...acme, host: "byref.example" })).toMatchObject({
      status: 200,
    });
  });
});
