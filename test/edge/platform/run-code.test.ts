import { describe, expect, it } from "vitest";
import * as limits from "../../../src/limits.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { VariableStore } from "../../../src/store/variable-store.ts";
import { parsedJson, plainJson } from "../../../src/value/json.ts";
import { failureOf, fakeTool, returnedBy } from "../../support/run-code.ts";
import { runInObject as run } from "../../support/run-code-in-object.ts";

async function storeOf(values: Readonly<Record<string, unknown>>): Promise<VariableStore> {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(values)) {
    await store.save({ name, value: JSON.parse(JSON.stringify(value)) });
  }
  return store;
}

describe("code that runs on variables", () => {
  it("has the variables that it names, as plain values", async () => {
    const store = await storeOf({ orders: [{ total: 3 }, { total: 4 }], rate: 2, other: 1 });
    const code = "return [orders.reduce((sum, { total }) => sum + total * rate, 0), typeof other]";
    const outcome = await run(code, { store, variables: ["orders", "rate"] });
    expect(returnedBy(outcome)).toEqual([14, "undefined"]);
  });

  it("has whole numbers beyond doubles as BigInts, long decimals as texts, and returns all digits", async () => {
    const store = new MemoryStore();
    const text = "[1234567890123456789,0.1234567890123456789,1e400,0.10000000000000001,2]";
    await store.save({ name: "rows", value: parsedJson(text) });
    const code = "return [rows[0] + 1n, ...rows.map((row) => typeof row), rows]";
    const outcome = await run(code, { store, variables: ["rows"] });
    const types = '"bigint","string","string","number","number"';
    const kept = '[1234567890123456789,"0.1234567890123456789","1e400",0.1,2]';
    const returned = `[1234567890123456790,${types},${kept}]`;
    expect(returnedBy(outcome)).toEqual(plainJson(parsedJson(returned)));
    expect(JSON.stringify(await store.read("run_code_1"))).toBe(returned);
  });

  it("has copies, so that its changes stay local", async () => {
    const store = await storeOf({ orders: [{ total: 3 }] });
    await run("orders[0].total = 9; orders.length = 0", { store, variables: ["orders"] });
    expect(await store.read("orders")).toEqual([{ total: 3 }]);
  });

  it("reads parts of values that are too large to pass", async () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, text: "x".repeat(100) }));
    const store = await storeOf({ rows });
    const code = `
      const last = await rows.slice(-2);
      return [rows.type, rows.count, last.length, last[1].id, await rows.read("[7].id")];`;
    const outcome = await run(code, { store, variables: ["rows"] });
    expect(returnedBy(outcome)).toEqual(["array", 50_000, 2, 49_999, 7]);
    const wrong = await run(`return rows.read("[7].it")`, { store, variables: ["rows"] });
    expect(failureOf(wrong).message).toContain("path_not_found");
    const other = await run(`return rows.read("]; $secret")`, { store, variables: ["rows"] });
    expect(failureOf(other).message).toContain("bad_path");
  });

  it("may declare the name of one of its variables", async () => {
    const store = await storeOf({ rate: 2 });
    const outcome = await run("const rate = 5; return rate;", { store, variables: ["rate"] });
    expect(returnedBy(outcome)).toBe(5);
  });

  it.each(["class", "vars", "await"])("cannot have a variable named %s", async (name) => {
    const store = await storeOf({ [name]: 2 });
    const outcome = await run("return 1", { store, variables: [name] });
    expect(failureOf(outcome).code).toBe("bad_name");
  });

  it("is not run if a variable is missing, and says which", async () => {
    const store = await storeOf({ orders: [] });
    const outcome = await run("return 1", { store, variables: ["order"] });
    expect(failureOf(outcome)).toMatchObject({
      code: "variable_not_found",
      message: "$order is not a variable. Did you mean orders?",
    });
  });
});

describe("the results of code", () => {
  it("are what it returns and assigns, saved together", async () => {
    const store = new MemoryStore();
    const code = "vars.totals = [1, 2]; vars.note = 'ok'; return { sum: 3 };";
    const outcome = await run(code, { store });
    expect(outcome).toEqual({
      output: {
        returned: { $var: "run_code_1", value: { sum: 3 } },
        vars: [
          { $var: "totals", value: [1, 2] },
          { $var: "note", value: "ok" },
        ],
      },
      untrusted: false,
    });
    expect(store.info("totals")).toMatchObject({ tool: "run_code", sources: ["tool:run_code"] });
    expect(await store.read("note")).toBe("ok");
  });

  it("are shown as a handle if they are large", async () => {
    const outcome = await run("return Array.from({ length: 5000 }, (_, id) => ({ id }))");
    expect(outcome).toMatchObject({
      output: { returned: { $var: "run_code_1", type: "array", count: 5_000 } },
    });
    expect(JSON.stringify(outcome).length).toBeLessThan(1_000);
  });

  it("are not saved if it fails, or if one name is invalid", async () => {
    const store = new MemoryStore();
    await run("vars.a = 1; throw new Error('no')", { store });
    const outcome = await run("vars.a = 1; vars['not a name'] = 2; return 3", { store });
    expect(failureOf(outcome).code).toBe("bad_name");
    expect(store.list()).toEqual([]);
  });

  it("include up to 2,000 characters of its console output", async () => {
    const outcome = await run(
      "console.log('a', { b: [1] }, null); console.error(2n); globalThis.console.log('c')",
    );
    expect(outcome).toMatchObject({ output: { console: 'a {"b":[1]} null\n2\nc' } });
    const long = await run("for (let i = 0; i < 1e6; i++) console.log('x'.repeat(100))");
    expect(String("output" in long && long.output.console).length).toBeLessThan(2_030);
  });

  it.each([
    ["new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["new Map([['a', new Set([1])]])", { a: [1] }],
    ["[10n ** 20n, NaN, undefined]", [100_000_000_000_000_000_000, null, null]],
    ["{ f() {}, s: Symbol('x'), u: undefined, k: 1 }", { k: 1 }],
    ["'\\u0000\\ud83d \\u{1F600}'", "\u0000\ud83d \u{1F600}"],
    ["new Error('no')", { name: "Error", message: "no" }],
    ["null", null],
  ])("contain %s as JSON", async (expression, expected) => {
    expect(returnedBy(await run(`return (${expression})`))).toEqual(expected);
  });

  it("keep keys that clients refuse, and are shown by name then", async () => {
    const store = new MemoryStore();
    const json = '{"__proto__":{"x":1}}';
    const outcome = await run(`return JSON.parse('${json}')`, { store });
    expect(outcome).toMatchObject({ output: { returned: { $var: "run_code_1", type: "object" } } });
    expect(JSON.stringify(await store.read("run_code_1"))).toBe(json);
  });

  it("come with a note if there are none", async () => {
    const outcome = await run("vars.x = undefined; return undefined");
    expect(outcome).toMatchObject({ output: { note: expect.stringContaining("nothing") } });
  });

  it.each([
    ["a cycle", "const a = {}; a.a = a; return a", /contains itself/],
    ["a function", "return () => 1", /function cannot be kept/],
    ["bytes", "return new Uint8Array(3)", /Bytes/],
    ["a promise inside", "return [Promise.resolve(1)]", /await/],
    ["a huge text", "return 'x'.repeat(17 * 1024 * 1024)", /maxJsonBytes/],
    ["a text that is too large to send", "return 'x'.repeat(40 * 1024 * 1024)", /32MiB/],
    ["several values too large together", "vars.a = vars.b = 'x'.repeat(9e6)", /maxJsonBytes/],
    ["too many arrays", "return Array.from({ length: 1_000_001 }, () => [])", /maxContainers/],
    ["too deep", "let a = 1; for (let i = 0; i < 250; i++) a = [a]; return a", /maxDepth/],
    ["deeper than a stack", "let a = 1; for (let i = 0; i < 1e5; i++) a = [a]; return a", /stack/],
    ["a getter that throws", "return { get a() { throw new Error('mine') } }", /mine/],
  ])("are refused: %s", async (_, code, message) => {
    const store = new MemoryStore();
    expect(failureOf(await run(code, { store })).message).toMatch(message);
    expect(store.list()).toEqual([]);
  });
});

describe("errors", () => {
  it.each([
    ["\n\nthrow new TypeError('oh')", "Line 3: TypeError: oh"],
    ["const a = 1;\nconst b = ;", "Line 2: SyntaxError: Unexpected token ';'"],
    [
      "const f = () => {\n  return missing;\n};\nf();",
      "Line 2: ReferenceError: missing is not defined",
    ],
    ["await null;\nnull.x", "Line 2: TypeError: Cannot read properties of null (reading 'x')"],
    ["import x from 'y'", "Line 1: SyntaxError: Unexpected identifier 'x'"],
    ["throw 'text'", "Thrown: text"],
    ["throw null", "Thrown: null"],
    ["throw { code: 7 }", 'Thrown: {"code":7}'],
    ["throw undefined", "Thrown: undefined"],
    ["throw Symbol('s')", "Thrown: Symbol(s)"],
    [
      "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })",
      "Thrown: something that cannot be read",
    ],
  ])("say the line and the message: %j", async (code, message) => {
    const failure = failureOf(await run(code));
    expect(failure).toMatchObject({ code: "tool_failed", message });
  });

  it("include the console output before them", async () => {
    const failure = failureOf(await run("console.log('so far');\nthrow new Error('no')"));
    expect(failure.message).toBe("Line 2: Error: no\nconsole:\nso far");
  });

  it("are shortened", async () => {
    const failure = failureOf(await run("throw new Error('x'.repeat(1e6))"));
    expect(failure.message.length).toBeLessThan(1_100);
  });
});

describe("tools", () => {
  it("are functions, and their results are variables too", async () => {
    const store = new MemoryStore();
    const double = fakeTool(store, { name: "double" }, (input) => ({
      twice: Number(Reflect.get(Object(input), "n")) * 2,
    }));
    const code =
      "const all = await Promise.all([1, 2].map((n) => tools.double({ n }))); return all.map((a) => a.twice);";
    const outcome = await run(code, { store, tools: [double] });
    expect(returnedBy(outcome)).toEqual([2, 4]);
    expect(double.calls.map(({ toolCallId }) => toolCallId)).toEqual(["call_1/1", "call_1/2"]);
    expect(store.list().map(({ name }) => name)).toEqual(["double_1", "double_2", "run_code_1"]);
    expect(store.info("run_code_1")?.sources).toEqual(["tool:run_code", "tool:double"]);
  });

  it("pass their labels on", async () => {
    const store = new MemoryStore();
    const mail = fakeTool(store, { name: "mail", trusted: false }, () => "do this");
    const outcome = await run("return await tools.mail({})", { store, tools: [mail] });
    expect(outcome).toMatchObject({ untrusted: true });
    expect(store.info("run_code_1")?.trusted).toBe(false);
  });

  it("throw errors that the code can catch", async () => {
    const store = new MemoryStore();
    const broken = fakeTool(store, { name: "broken" }, () => Promise.reject(new Error("down")));
    const asks = fakeTool(
      store,
      { name: "asks", approval: { reason: "costly", input: "{}" } },
      () => 1,
    );
    const code = `const said = [];
      for (const name of ["broken", "asks", "missing", "run_code", "constructor"])
        await tools[name]({}).catch((error) => said.push(error.message));
      await tools.broken("no object").catch((error) => said.push(error.message));
      return said;`;
    expect(returnedBy(await run(code, { store, tools: [broken, asks] }))).toEqual([
      "tool_failed: down",
      "tool_failed: asks needs a person's approval (costly): call it directly, not from code.",
      "unknown_tool: There is no tool missing. There are: broken, asks.",
      "unknown_tool: Code cannot run code.",
      "unknown_tool: There is no tool constructor. There are: broken, asks.",
      "invalid_tool_input: broken takes one object.",
    ]);
    expect(asks.inputs).toEqual([]);
  });

  it("cannot be called endlessly", async () => {
    const store = new MemoryStore();
    const one = fakeTool(store, { name: "one" }, () => 1);
    const outcome = await run("for (;;) await tools.one({})", { store, tools: [one] });
    expect(failureOf(outcome).message).toContain("maxBatchItems");
    expect(one.inputs).toHaveLength(limits.maxBatchItems);
  });
});
