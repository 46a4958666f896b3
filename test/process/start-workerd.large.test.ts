import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { freePort } from "../../scripts/free-port.ts";
import { type ChatCompletions, startChatCompletions } from "../support/chat-completions.ts";
import { type PlainServer, startPlain, stop } from "../support/plain-server.ts";
import { temporaryFolder } from "../support/server.ts";
import { textOf } from "../support/turn-client.ts";

/** Characters that a shell or an env file could misread. */
const modelKey = `sk-"double" 'single' $HOME \${PATH} \\$x a#b #hash =end`;
const key = "acme-key-0123456789";

/** Returns all files below the folder. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe("the Worker on plain workerd", () => {
  const stateDir = temporaryFolder();
  let endpoint: ChatCompletions;
  let env: Record<string, string>;
  let started: PlainServer;

  beforeAll(async () => {
    endpoint = await startChatCompletions();
    env = {
      PORT: String(await freePort()),
      STATE_DIR: stateDir,
      AUTH: "bearer",
      API_KEYS: JSON.stringify({ [key]: "acme" }),
      MODEL: "openai-compatible:test-model",
      MODEL_BASE_URL: endpoint.url,
      MODEL_API_KEY: modelKey,
      SECRET_THING: "not-for-the-worker",
    };
    started = startPlain(env);
    if ((await started.url) === undefined) throw new Error(started.output());
  });

  afterAll(async () => {
    if (started !== undefined) await stop(started);
    await endpoint?.down();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const client = (auth?: string) =>
    createClient(`http://localhost:${env.PORT}`, auth === undefined ? {} : { auth });

  it("serves the page to everyone, with content types and security headers", async () => {
    const page = await fetch(`http://localhost:${env.PORT}/`);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
    const asset = await fetch(`http://localhost:${env.PORT}${script}`);
    expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(asset.headers.get("cache-control")).toContain("immutable");
    expect((await asset.text()).length).toBeGreaterThan(10_000);
    const posted = await fetch(`http://localhost:${env.PORT}/`, { method: "POST" });
    expect(posted.status).toBe(401);
  });

  it("answers, and keeps messages and variables across a restart", async () => {
    endpoint.play([
      { kind: "calls", calls: [{ name: "get_weather", input: { location: "NYC" } }] },
      { kind: "text", text: "In $get_weather_nyc.city." },
    ]);
    const conversation = client(key).conversation("kept");
    expect(await conversation.send("Where?").text()).toBe("In New York.");
    expect(endpoint.requests[0]?.headers.authorization).toBe(`Bearer ${modelKey}`);
    const tools = endpoint.requests[0]?.body.tools.map(({ function: { name } }) => name);
    expect(tools).not.toContain("run_code");
    // Larger than a row; there is no bucket.
    const long = "x".repeat(3_000_000);
    expect(await conversation.variables.put("long", long)).toMatchObject({ location: "chunks" });
    const { messages } = await conversation.messages();

    expect(await stop(started)).toBe(0);
    await expect(client().health()).rejects.toMatchObject({ code: "unreachable" });
    started = startPlain(env);
    await started.url;
    expect((await conversation.messages()).messages).toEqual(messages);
    expect(messages.map(textOf)).toEqual(["Where?", "In New York."]);
    expect(await conversation.variables.get("long")).toBe(long);
    endpoint.play([{ kind: "text", text: "Still $get_weather_nyc.city." }]);
    expect(await conversation.send("And now?").text()).toBe("Still New York.");
  });

  it("writes no key to its state, a command line or its output", () => {
    const places: Record<string, string> = {
      output: started.output(),
      "command lines": execFileSync("ps", ["-eo", "args="], { encoding: "utf8" }),
    };
    for (const path of filesIn(stateDir)) places[path] = readFileSync(path, "latin1");
    const secrets = [key, modelKey.slice(0, 12), "not-for-the-worker"];
    const found = Object.keys(places).filter((place) =>
      secrets.some((secret) => places[place]?.includes(secret) === true),
    );
    expect([found, statSync(join(stateDir, "objects")).mode & 0o077]).toEqual([[], 0]);
  });

  it("does not claim to be ready if its port is in use", async () => {
    const second = startPlain({ ...env, STATE_DIR: join(stateDir, "second") });
    expect(await second.url).toBeUndefined();
    expect(await second.exited).toBe(1);
    expect(second.output()).toMatch(/in use/i);
  });
});
