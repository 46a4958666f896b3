import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseXml } from "@rgrove/parse-xml";
import { parse } from "parse5";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Results } from "../src/report/results.ts";
import { runEval } from "../src/runner/run-eval.ts";
import {
  type SkillServer,
  type SkillServerOptions,
  startSkillServer,
} from "../src/skill/skill-server.ts";
import { skillNamed } from "../src/skill/skills.ts";

let folder: string;
const servers: SkillServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-eval-test-"));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const server of servers.splice(0)) await server.close();
});

async function serve(skill = "exact", options: SkillServerOptions = {}): Promise<SkillServer> {
  const server = await startSkillServer(skillNamed(skill), options);
  servers.push(server);
  return server;
}

interface Ran {
  readonly code: number;
  readonly written: string;
  readonly logged: string;
}

/** Runs the evaluation against this server as a user's own endpoint. */
async function run(server: SkillServer, ...more: readonly string[]): Promise<Ran> {
  const written: string[] = [];
  const logged: string[] = [];
  const args = [
    "--model",
    "openai-compatible:test",
    "--quick",
    "--count",
    "1",
    "--price",
    "1,0.1,4",
  ];
  const places = ["--out", join(folder, "out"), "--cache", join(folder, "cache")];
  const code = await runEval([...args, ...places, ...more], {
    env: { MODEL_BASE_URL: server.url, MODEL_API_KEY: "sk-my-own-key" },
    write: (text) => written.push(text),
    log: (line) => logged.push(line),
  });
  return { code, written: written.join("\n"), logged: logged.join("\n") };
}

function resultsIn(out = "out"): Results {
  return JSON.parse(readFileSync(join(folder, out, "results.json"), "utf8")) as Results;
}

describe("a run", () => {
  it("first prints its cost, then writes a table, charts and a page", async () => {
    const { code, written, logged } = await run(await serve());
    expect(code).toBe(0);
    expect(logged).toMatch(/^Estimate: 70 cells, \d+ model calls, .+; about \$\d/);
    const [, calls = ""] = /(\d+) model calls/.exec(logged) ?? [];
    expect(Number(calls)).toBe(resultsIn().cells.reduce((sum, cell) => sum + cell.calls, 0));
    expect(logged).toMatch(/70\/70 ok .+ so far, 0 s left/);
    expect(written).toContain("|  | by value | cap | offload | reference | reference, code, SQL |");
    expect(readdirSync(join(folder, "out")).toSorted()).toEqual(
      "cells.ndjson,cost.svg,input.svg,intact.svg,results.html,results.json,results.md,right.svg,sizes.svg".split(
        ",",
      ),
    );
    for (const name of ["cost", "right", "sizes"]) {
      const svg = readFileSync(join(folder, "out", `${name}.svg`), "utf8");
      expect(parseXml(svg).root?.name).toBe("svg");
    }
  });

  it("writes a page that loads nothing, whatever the model's name", async () => {
    const server = await serve();
    await run(server, "--arms", "value", "--model", 'openai-compatible:<script>"x"&');
    const html = readFileSync(join(folder, "out", "results.html"), "utf8");
    expect(html).not.toMatch(/<script|<link|<img|src=|href=|url\(/i);
    expect(JSON.stringify(parse(html), withoutParents)).toContain('<script>\\"x\\"&');
  });

  it("is free the second time, with the same results", async () => {
    const server = await serve("sloppy");
    await run(server, "--arms", "value,cap,reference");
    const [sent, first] = [server.requests, resultsIn()];
    await run(server, "--arms", "value,cap,reference", "--out", join(folder, "again"));
    expect(sent).toBeGreaterThan(50);
    expect(server.requests).toBe(sent);
    expect(resultsIn("again").arms).toEqual(first.arms);
  });

  it("continues where it stopped, even after an incomplete line", async () => {
    const server = await serve();
    await run(server, "--arms", "value,reference");
    const path = join(folder, "out", "cells.ndjson");
    const lines = readFileSync(path, "utf8").split("\n").slice(0, 6);
    writeFileSync(path, `${lines.join("\n")}\n`);
    appendFileSync(path, '{"task":"small-1","ar');
    rmSync(join(folder, "cache"), { recursive: true });
    const { logged } = await run(server, "--arms", "value,reference");
    expect(logged).toContain("23/23 ");
    // The incomplete line is removed from the file, too.
    await run(server, "--arms", "value,reference");
    const keys = resultsIn().cells.map(({ task, arm }) => `${task} ${arm}`);
    expect(new Set(keys).size).toBe(28);
    expect(keys).toHaveLength(28);
  });

  it("refuses the cells of another model", async () => {
    const server = await serve();
    await run(server, "--arms", "value");
    await expect(run(server, "--model", "openai-compatible:other")).rejects.toThrow(
      "belongs to another run",
    );
  });
});

describe("a provider", () => {
  it("gets the requested pause", async () => {
    const server = await serve("exact", {
      refuse: (request) =>
        request % 10 === 3 ? { status: 429, headers: { "retry-after-ms": "5" } } : undefined,
    });
    const { code } = await run(server, "--arms", "value,reference");
    expect(code).toBe(0);
    expect(resultsIn().cells.filter(({ isRight }) => !isRight)).toEqual([]);
  });

  it("that rejects the key stops the run, with a message and the results so far", async () => {
    const server = await serve("exact", {
      refuse: (request) => (request > 20 ? { status: 401 } : undefined),
    });
    const { code, logged } = await run(server);
    expect(code).toBe(1);
    expect(logged).toContain("Stopped: The model cannot be called: ");
    expect(resultsIn().about.stopped).toContain("The model cannot be called");
    expect(server.requests).toBeLessThan(30);
  });

  it("that repeats the key in its error does not expose it in the results", async () => {
    const server = await serve("exact", {
      refuse: () => ({ status: 401, message: "The key sk-my-own-key is not valid." }),
    });
    const { logged } = await run(server, "--arms", "value");
    expect(logged).toContain("Stopped: The model cannot be called: The key … is not valid.");
    const files = readdirSync(join(folder, "out")).map((name) =>
      readFileSync(join(folder, "out", name), "utf8"),
    );
    expect([logged, ...files].filter((text) => text.includes("sk-my-own-key"))).toEqual([]);
  });

  it("that returns a garbled answer is asked again", async () => {
    const server = await serve("exact", {
      refuse: (request) => (request === 4 ? { status: 200, message: "garbled" } : undefined),
    });
    const { code } = await run(server, "--arms", "value", "--concurrency", "1");
    expect(code).toBe(0);
    expect(resultsIn().cells.filter(({ isRight }) => !isRight)).toEqual([]);
  });

  it("that refuses one prompt fails only that task", async () => {
    const server = await serve("exact", {
      refuse: (request) => (request === 5 ? { status: 400 } : undefined),
    });
    const { code } = await run(server, "--arms", "value");
    expect(code).toBe(0);
    expect(resultsIn().cells.filter(({ isRight }) => !isRight)).toMatchObject([
      { ending: "refused" },
    ]);
  });
});

describe("a budget", () => {
  it("is not exceeded by a prompt, and the run continues with a larger one", async () => {
    const server = await serve();
    const { code, logged } = await run(server, "--budget", "0.2", "--concurrency", "1");
    expect(code).toBe(1);
    expect(logged).toContain("Stopped: The budget of 0.2 USD is spent.");
    const spent = resultsIn().cells.reduce((sum, { cost = 0 }) => sum + cost, 0);
    expect(spent).toBeGreaterThan(0.1);
    // The output of the last call may exceed the budget.
    expect(spent).toBeLessThan(0.3);
    expect((await run(server, "--budget", "100")).code).toBe(0);
  });

  it("is required for an expensive run", async () => {
    const server = await serve();
    const { code, logged } = await run(server, "--price", "100,100,100");
    expect([code, server.requests]).toEqual([2, 0]);
    expect(logged).toContain("--budget USD");
  });

  it("needs a price", async () => {
    const server = await serve();
    const args = ["--model", "openai-compatible:x", "--quick", "--count", "1", "--budget", "1"];
    const env = { MODEL_BASE_URL: server.url };
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    expect(await runEval(args, { env, write: log, log })).toBe(2);
    expect(lines.join()).toContain("--price IN,CACHED,OUT");
  });
});

describe("a variant", () => {
  it("replaces the guide, descriptions and errors, and is a separate run", async () => {
    const bodies: string[] = [];
    const server = await serve("exact", {
      refuse: (_, body) => void bodies.push(body),
    });
    const path = join(folder, "variant.json");
    const variant = {
      name: "plain",
      guide: { start: "START-TEXT", details: "DETAILS-TEXT" },
      tools: { read_variable: "READ-TEXT" },
      errors: { invalid_tool_input: "ERROR-TEXT {message}" },
    };
    writeFileSync(path, JSON.stringify(variant));
    await run(server, "--variant", path, "--arms", "reference");
    const sent = bodies.join("\n");
    for (const text of ["START-TEXT", "DETAILS-TEXT", "READ-TEXT"]) expect(sent).toContain(text);
    expect(sent).toContain("invalid_tool_input: ERROR-TEXT The input does not fit the tool");
    expect(sent).not.toContain("Write results as");
    expect(resultsIn().about.variant).toBe("plain");
    await expect(run(server, "--arms", "reference")).rejects.toThrow("belongs to another run");
  });

  it("with an unknown field is refused", async () => {
    const path = join(folder, "variant.json");
    writeFileSync(path, '{"name": "x", "guides": {}}');
    await expect(run(await serve(), "--variant", path)).rejects.toThrow("guides");
  });
});

it("compares two runs, task by task", async () => {
  await run(await serve("exact"), "--out", join(folder, "a"));
  await run(await serve("miscopies"), "--out", join(folder, "b"), "--cache", join(folder, "other"));
  const lines: string[] = [];
  const context = { env: {}, write: (text: string) => lines.push(text), log: () => undefined };
  await runEval(["--compare", join(folder, "a"), join(folder, "b", "results.json")], context);
  const [table = ""] = lines;
  expect(table).toMatch(/\| by value \| 14 \| \+\d.* points.*\| [1-9]\d* \| 0 \|/);
  expect(table).toMatch(/\| reference \| 14 \| 0 points \| 0 \| 0 \|/);
});

describe("the command line", () => {
  const context = { env: {}, write: () => undefined, log: () => undefined };
  it.each([
    [[], "--model is missing"],
    [["--model", "gpt-5"], "openai-compatible:NAME"],
    [["--model", "openai-compatible:x"], "MODEL_BASE_URL"],
    [["--model", "anthropic:x"], "MODEL_API_KEY"],
    [["--model", "workers-ai:x"], "CLOUDFLARE_ACCOUNT_ID"],
    [["--model", "scripted:nobody"], "there are exact, sloppy"],
    [["--model", "scripted:exact", "--arms", "all"], "There is no arm all"],
    [["--model", "scripted:exact", "--count", "x"], "--count needs a number"],
    [["--model", "scripted:exact", "--set", "nestful"], "NAME=FOLDER"],
    [["--model", "scripted:exact", "--set", "other=/tmp"], "There is no set other"],
    [["--model", "scripted:exact", "--price", "1,2"], "--price needs three prices"],
    [["--compare", "a"], "--compare needs two results"],
  ])("rejects %j with a reason", async (args, said) => {
    const tiny = ["--quick", "--count", "1", "--out", join(folder, "x")];
    const all = args.includes("--compare") ? args : [...tiny, ...args];
    await expect(runEval(all, context)).rejects.toThrow(said);
  });
});

/** Leaves out the parents of parse5 nodes, which would be circular in JSON. */
function withoutParents(key: string, value: unknown): unknown {
  return key === "parentNode" ? undefined : value;
}
