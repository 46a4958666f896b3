import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Results } from "../src/results.ts";
import { runEval } from "../src/run-eval.ts";

let folder: string;
const servers: Server[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-eval-test-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

interface Refusal {
  readonly status: number;
  readonly message?: string;
  readonly headers?: IncomingHttpHeaders;
}

/** Starts an endpoint of chat completions that answers "done", or refuses a request by its number. */
async function serve(refuse: (request: number) => Refusal | undefined = () => undefined) {
  let requests = 0;
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  const message = { role: "assistant", content: "done" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const completion = { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage };
  const server = createServer((_, response) => {
    const refusal = refuse(++requests);
    const headers = { "content-type": "application/json", ...refusal?.headers };
    response.writeHead(refusal?.status ?? 200, headers);
    const error = { message: refusal?.message ?? "Refused." };
    response.end(JSON.stringify(refusal === undefined ? completion : { error }));
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests: () => requests };
}

/** Runs the evaluation; with a URL, against this server as a user's own endpoint. */
async function run(url: string | undefined, ...more: readonly string[]) {
  const written: string[] = [];
  const logged: string[] = [];
  const model = url === undefined ? "scripted:exact" : "openai-compatible:test";
  const args = ["--model", model, "--quick", "--count", "1", "--price", "1,0.1,4"];
  const code = await runEval([...args, "--out", join(folder, "out"), ...more], {
    env: { MODEL_BASE_URL: url, MODEL_API_KEY: "sk-my-own-key" },
    write: (text) => written.push(text),
    log: (line) => logged.push(line),
  });
  return { code, written: written.join("\n"), logged: logged.join("\n") };
}

function resultsIn(): Results {
  return JSON.parse(readFileSync(join(folder, "out", "results.json"), "utf8")) as Results;
}

it("a run continues where it stopped, even after an incomplete line", async () => {
  await run(undefined, "--arms", "value,reference");
  const path = join(folder, "out", "cells.ndjson");
  const lines = readFileSync(path, "utf8").split("\n").slice(0, 6);
  writeFileSync(path, `${lines.join("\n")}\n`);
  appendFileSync(path, '{"task":"ids-1","ar');
  const { logged } = await run(undefined, "--arms", "value,reference");
  expect(logged.match(/^(?:ok|FAIL) /gmu)).toHaveLength(15);
  const keys = resultsIn().cells.map(({ task, arm }) => `${task} ${arm}`);
  expect([keys.length, new Set(keys).size]).toEqual([20, 20]);
});

describe("a provider", () => {
  it("that asks for a pause gets it", async () => {
    const { url } = await serve((request) =>
      request % 10 === 3 ? { status: 429, headers: { "retry-after-ms": "5" } } : undefined,
    );
    const { code } = await run(url, "--arms", "value,reference");
    expect(code).toBe(0);
    expect(resultsIn().cells.filter(({ ending }) => ending !== "answered")).toEqual([]);
  });

  it("that rejects the key stops the run, and does not expose it in the results", async () => {
    const { url, requests } = await serve((request) =>
      request > 10 ? { status: 401, message: "The key sk-my-own-key is not valid." } : undefined,
    );
    const { code, logged } = await run(url);
    expect(code).toBe(1);
    expect(logged).toContain("Stopped: The model cannot be called: The key … is not valid.");
    expect(resultsIn().about.stopped).toContain("The model cannot be called");
    expect(requests()).toBeLessThan(20);
    const files = readdirSync(join(folder, "out")).map((name) =>
      readFileSync(join(folder, "out", name), "utf8"),
    );
    expect([logged, ...files].filter((text) => text.includes("sk-my-own-key"))).toEqual([]);
  });

  it.each([200, 400])("that fails one prompt with %i fails only that task", async (status) => {
    const { url } = await serve((request) => (request === 5 ? { status } : undefined));
    expect((await run(url, "--arms", "value")).code).toBe(0);
    const { cells } = resultsIn();
    expect(cells.filter(({ ending }) => ending === "refused")).toHaveLength(1);
  });
});

it("a budget is not exceeded, and the run continues with a larger one", async () => {
  const { url } = await serve();
  const all = ["--arms", "value", "--concurrency", "1"];
  const { code, logged } = await run(url, ...all, "--budget", "0.005");
  expect(code).toBe(1);
  expect(logged).toContain("Stopped: The budget of 0.005 USD is spent.");
  const spent = resultsIn().cells.reduce((sum, { cost = 0 }) => sum + cost, 0);
  expect(spent).toBeGreaterThan(0.003);
  // The output of the last call may exceed it.
  expect(spent).toBeLessThan(0.006);
  expect((await run(url, ...all)).code).toBe(0);
});

const context = { env: {}, write: () => undefined, log: () => undefined };
it.each([
  [[], "--model is missing"],
  [["--model", "gpt-5", "--price", "1,1,1"], "openai-compatible:NAME"],
  [["--model", "openai-compatible:x"], "--price IN,CACHED,OUT"],
  [["--model", "openai-compatible:x", "--price", "1,1,1"], "MODEL_BASE_URL"],
  [["--model", "anthropic:claude-sonnet-4", "--price", "1,1,1"], "MODEL_API_KEY"],
  [["--model", "scripted:nobody"], "there are exact, sloppy"],
  [["--model", "scripted:exact", "--arms", "all"], "There is no arm all"],
  [["--model", "scripted:exact", "--count", "x"], "--count needs a number"],
  [["--model", "scripted:exact", "--set", "nestful"], "nestful=FOLDER"],
  [["--model", "scripted:exact", "--set", "other=/tmp"], "nestful=FOLDER"],
  [["--model", "scripted:exact", "--price", "1,2"], "--price needs three prices"],
  [["--model", "scripted:exact", "--price", "1,,2"], "--price needs three prices"],
])("the command line rejects %j with a reason", async (args, said) => {
  const tiny = ["--quick", "--out", join(folder, "x")];
  await expect(runEval([...tiny, ...args], context)).rejects.toThrow(said);
});
