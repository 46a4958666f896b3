import { describe, expect, it } from "vitest";
import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { Labels } from "../../../src/store/labels.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { queryTools } from "../src/query-tools.ts";
import { editVariable } from "../../../src/tool/edit/edit-variable.ts";
import { wrapRuntimeTool } from "../../../src/tool/tool-call.ts";
import type { WrappedTool } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { leakingStatements } from "../../../test/support/sql-fuzz.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { call, run } from "../../../test/support/wrapped.ts";
import { leakIn, walled } from "./wall.ts";
import { wallStatements } from "./wall-statements.ts";
import { slow } from "../../../test/support/slow.ts";

/** The variables that the reader finds, if it checks nothing. */
const READERS = [
  ["with the reader", undefined],
  ["with a reader that finds only p1", ["p1"]],
  ["with a reader that finds only p1 and u1", ["p1", "u1"]],
  ["with a reader that finds nothing", []],
] as const;

/** Runs a call and saves its result. Returns all that a model is shown of it, and the saved value. */
async function said(tool: WrappedTool, input: Json, options = call): Promise<readonly unknown[]> {
  const ran = await run(tool, input, options);
  if (ran.kind === "failed") return [ran.code, ran.message];
  const { output } = await ran.save();
  return [output];
}

/** Returns what a model learns by all statements in a world with these values, and the leaks in it. */
async function learned(options: Parameters<typeof walled>[0]) {
  const { store, databases } = await walled(options);
  const wrap = { store };
  const tools = queryTools({ databases, wrap });
  const query = await wrapRuntimeTool(tools.query, wrap);
  const edit = await wrapRuntimeTool(editVariable(tools.records), wrap);
  const all: string[] = [];
  const leaks: (readonly [leak: string, sql: string, text: string])[] = [];
  const note = (sql: string, texts: readonly unknown[], trusted = false) => {
    const text = JSON.stringify(texts);
    all.push(text);
    const leak = leakIn(text, trusted);
    if (leak !== undefined) leaks.push([leak, sql, text]);
  };
  for (const [at, sql] of wallStatements.entries()) {
    note(sql, await said(query, { sql, saveAs: "out" }));
    const saved = store.info("out");
    note(sql, [await store.read("out"), saved?.shape, saved?.preview], saved?.trusted === true);
    store.delete("out");
    // In code, whose values are parts of the statement.
    const madeOf = { ...call, madeOf: new Labels(store) };
    note(sql, await said(query, { sql }, madeOf));
    const where = [`EXISTS (${sql})`, `t IN (${sql})`, `1) UNION ${sql} -- `][at % 3];
    const edits = [{ where: where ?? "1", set: { n: 1 } }];
    note(sql, await said(edit, { name: "p1", edits, saveAs: "edited" }));
    note(sql, [await store.read("edited")]);
    store.delete("edited");
  }
  return { all, leaks };
}

describe.each(READERS)("statements of a model, %s", slow, (_, believed) => {
  it("show nothing sealed or secret, in tools, code and conditions", async () => {
    const { leaks, all } = await learned({ believed });
    expect(leaks).toEqual([]);
    expect(all.length).toBeGreaterThan(260 * 5);
    // Nor do they answer a question about it.
    const other = await learned({ believed, sealed: "another", secret: "another" });
    const differing = all.filter((text, at) => text !== other.all[at]);
    expect(differing).toEqual([]);
  });

  it("show nothing sealed or secret to a client of the gateway", async () => {
    const { store, databases } = await walled({ believed });
    const { call: callTool } = await startGateway([], { store, databases });
    for (const sql of wallStatements) {
      const text = JSON.stringify(await callTool("query_variables", { sql }));
      expect.soft(leakIn(text, false), sql).toBeUndefined();
    }
  });
});

/** One database for all, in which everything stays: what there was before the wall. */
function withoutWall(): () => QueryEngine {
  const engine = nodeQueryEngine();
  const keys: string[] = [];
  const shared: QueryEngine = {
    run: (query) => engine.run({ ...query, kept: keys }),
    add: (key, chunk) => {
      keys.push(key);
      return engine.add(key, chunk);
    },
    keep: () => Promise.resolve(),
  };
  return () => shared;
}

async function leaksIn(
  statements: ReturnType<typeof leakingStatements>,
): Promise<readonly string[]> {
  const leaks: string[] = [];
  for await (const { leak } of statements) leaks.push(leak);
  return leaks;
}

it("would find the leaks of a single database", slow, async () => {
  const { leaks } = await learned({ believed: ["p1"], open: withoutWall() });
  expect(leaks.length).toBeGreaterThan(30);
  const random = await leaksIn(leakingStatements(1, 4_000, { open: withoutWall }));
  expect(random.join()).toContain("sealed");
  expect(random.join()).toContain("untrusted as trusted");
});

it("show nothing sealed or secret if they are random, and no untrusted value as a trusted one", async () => {
  const { value: first } = await leakingStatements(1, 4_000).next();
  expect(first).toBeUndefined();
});
