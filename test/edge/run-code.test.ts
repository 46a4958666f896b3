import { describe, expect, it, vi } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { failureOf, recordingTool, returnedBy, runCode } from "../support/run-code.ts";
import { runInObject as run, inObject } from "../support/run-code-in-object.ts";

async function storeOf(values: Readonly<Record<string, unknown>>): Promise<VariableStore> {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(values)) {
    await store.save({ name, value: JSON.parse(JSON.stringify(value)) });
  }
  return store;
}

it("code reads parts of values that are too large to pass", async () => {
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

it.each(["class", "vars", "await"])("code cannot have a variable named %s", async (name) => {
  const store = await storeOf({ [name]: 2 });
  const outcome = await run("return 1", { store, variables: [name] });
  expect(failureOf(outcome).code).toBe("bad_name");
});

it("the results of code are what it returns and assigns, saved together", async () => {
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

/** By the rules of tools' results (anomalyco/opencode#49065, KeeperHub/keeperhub#1593). */
it.each<[string, unknown, string?]>([
  [
    "[/a+/g, new Map([[1, new Set([2n])]]), Object(3n), new Number(4)]",
    ["/a+/g", { 1: [2] }, 3, 4],
  ],
  ["[NaN, { a: 1e400 }]", [null, { a: null }], "Numbers that are not finite became null."],
  ["{ f() {}, g: [Symbol('x')] }", { g: [null] }, "Functions and symbols were left out."],
  ["[new Date(NaN)]", [null], "Invalid dates became null."],
  ["TypeError('x')", { name: "TypeError", message: "x" }, "Errors became their name and message."],
])("the results of code keep what they are: %s", async (value, kept, note) => {
  const { output } = (await run(`console.log('said'); return ${value}`)) as { output: object };
  const said = note === undefined ? "said" : `${note}\nsaid`;
  expect(output).toEqual({ returned: { $var: "run_code_1", value: kept }, console: said });
});

it.each([
  ["new Map([[1, 2]]).values()", /TypeError: An object of the class .*, such as \[\.\.\.it\]/],
  ["(function* () { yield 1; })()", /cannot be kept/],
  ["[new URLSearchParams('a=1')]", /class URLSearchParams/],
  ["{ headers: new Headers({ a: '1' }) }", /class Headers/],
  ["new Response('x')", /class Response/],
  ["new Map([[1, 'a'], ['1', 'b']])", /several keys of the same text.*an array of pairs/],
  ["new Float64Array(2)", /bytes cannot be kept/],
  ["{ p: Promise.resolve(1) }", /A promise cannot be kept/],
  ["(() => { const a = {}; a.a = a; return a; })()", /contains itself/],
])("the results of code are refused where they would be empty: %s", async (value, message) => {
  for (const code of [`return ${value}`, `await tools.any({ value: ${value} })`])
    expect(failureOf(await run(code)).message).toMatch(message);
});

it("the results of code include up to 2,000 characters of its console output", async () => {
  const outcome = await run(
    "console.log('a', { b: [1] }, null); console.error(2n); globalThis.console.log('c')",
  );
  expect(outcome).toMatchObject({ output: { console: 'a {"b":[1]} null\n2\nc' } });
  const long = await run("for (let i = 0; i < 1e6; i++) console.log('x'.repeat(100))");
  expect(String("output" in long && long.output.console).length).toBeLessThan(2_030);
});

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
])("errors say the line and the message: %j", async (code, message) => {
  const failure = failureOf(await run(code));
  expect(failure).toMatchObject({ code: "tool_failed", message });
});

it("tools are functions, and their results are variables too", async () => {
  const store = new MemoryStore();
  const double = await recordingTool(store, "double", (input) => ({
    twice: Number(Reflect.get(Object(input), "n")) * 2,
  }));
  const code =
    "const all = await Promise.all([1, 2].map((n) => tools.double({ n }))); return all.map((a) => a.twice);";
  const outcome = await run(code, { store, tools: [double] });
  expect(returnedBy(outcome)).toEqual([2, 4]);
  expect(double.ids).toEqual(["call_1/1", "call_1/2"]);
  expect(store.list().map(({ name }) => name)).toEqual(["double_1", "double_2", "run_code_1"]);
  expect(store.info("run_code_1")?.sources).toEqual(["tool:run_code", "tool:double"]);
});

it.each([
  ["tools.broken({})", "tool_failed: down"],
  [
    "tools.asks({})",
    "tool_failed: asks needs a person's approval (costly): call it directly, not from code.",
  ],
  ["tools.missing({})", "unknown_tool: There is no tool missing. There are: broken, asks."],
  ["tools.constructor({})", "unknown_tool: There is no tool constructor."],
  ["tools.run_code({})", "unknown_tool: Code cannot run code."],
  ["tools.broken('no object')", "invalid_tool_input: broken takes one object."],
])("tools throw errors that the code can catch: %s", async (call, message) => {
  const store = new MemoryStore();
  const broken = await recordingTool(store, "broken", () => Promise.reject(new Error("down")));
  const asks = await recordingTool(
    store,
    "asks",
    () => 1,
    () => ({ ask: "costly" }),
  );
  const code = `return ${call}.catch((error) => error.message)`;
  expect(returnedBy(await run(code, { store, tools: [broken, asks] }))).toContain(message);
  expect(asks.inputs).toEqual([]);
});

it.each([
  ["as an input", "return key", ["key"]],
  ["by name in code", "return [typeof key, '$key', `${'$'}{key}`]", []],
  ["as an output", "vars.key = 1", []],
])("a secret variable is not available to code: %s", async (_, code, variables) => {
  const store = new MemoryStore();
  await store.save({ name: "key", value: "sk-very-secret", visibility: "secret" });
  const outcome = await run(code, { store, variables });
  expect(JSON.stringify(outcome)).not.toContain("sk-very");
  expect(await store.read("key")).toBe("sk-very-secret");
  if (variables.length > 0) expect(failureOf(outcome).code).toBe("variable_secret");
});

describe("a sealed variable", () => {
  const salary = 98_765;

  async function sealed(code: string) {
    const store = new MemoryStore();
    await store.save({ name: "salary", value: salary, visibility: "sealed" });
    const log = vi.spyOn(console, "log");
    const outcome = await run(code, { variables: ["salary"], store });
    expect(JSON.stringify(log.mock.calls)).not.toContain(String(salary));
    log.mockRestore();
    return { outcome, store };
  }

  it("can be used, and seals its results", async () => {
    const { outcome, store } = await sealed("return salary * 2");
    expect(outcome).toEqual({
      output: { returned: { $var: "run_code_1", visibility: "sealed" } },
      untrusted: false,
    });
    expect(await store.read("run_code_1")).toBe(salary * 2);
    expect(store.info("run_code_1")?.visibility).toBe("sealed");
  });

  it.each([
    ["the value", "return salary"],
    ["a key", "return { ['k' + salary]: 1 }"],
    ["the console", "console.log(salary); globalThis.console.error(salary); return 1"],
    ["an error's message", "throw new Error('it is ' + salary)"],
    ["an error's name", "const e = new Error(); e.name = 'E' + salary; throw e"],
    ["a thrown value", "throw { salary, code: salary }"],
    ["an error's code", "const e = new Error('x'); e.code = 'limit_exceeded'; throw e"],
    ["an error's line", "\n\n\nnull.x"],
    ["a name", "vars['s' + salary] = 1; return 1"],
    ["an invalid name", "vars['no name ' + salary] = 1; return 1"],
    ["a value that cannot be stored", "return { toJSON() { throw new Error(salary) } }"],
    [
      "an unhandled rejection",
      "Promise.reject(new Error(salary)); await scheduler.wait(5); return 1",
    ],
  ])("is not revealed by %s", async (_, code) => {
    const { outcome, store } = await sealed(code);
    const shown = JSON.stringify(outcome);
    expect(shown).not.toContain(String(salary));
    expect(shown).not.toMatch(/console|[Ll]ine |limit_exceeded/);
    const names = store.list().map(({ name }) => name);
    expect(["salary", "run_code_1"]).toEqual(expect.arrayContaining(names));
    for (const { visibility } of store.list()) expect(visibility).toBe("sealed");
  });
});

const NOT_PERMITTED = /not permitted to access the internet/;
const NO_MODULE = /No such module/;

it.each([
  ["fetch", "return (await fetch('https://example.com')).status", NOT_PERMITTED],
  ["fetch of this machine", "return (await fetch('http://127.0.0.1:8787')).status", NOT_PERMITTED],
  [
    "a request object",
    "return (await fetch(new Request('http://example.com'))).status",
    NOT_PERMITTED,
  ],
  ["a WebSocket", "return new WebSocket('wss://example.com').url", NOT_PERMITTED],
  [
    "an event source",
    "await new Promise((open, fail) => Object.assign(new EventSource('https://example.com'), { onopen: open, onerror: () => fail(new Error('not opened')) }))",
    /not opened/,
  ],
  [
    "an upgrade",
    "return (await fetch('http://example.com', { headers: { upgrade: 'websocket' } })).status",
    NOT_PERMITTED,
  ],
  [
    "a socket",
    "const { connect } = await import('cloudflare:sockets'); await connect('1.1.1.1:80').opened",
    NOT_PERMITTED,
  ],
  [
    "a TLS socket",
    "const { connect } = await import('cloudflare:sockets'); await connect('1.1.1.1:443', { secureTransport: 'on' }).opened",
    NOT_PERMITTED,
  ],
  [
    "the sockets' HTTP client",
    "const { internalNewHttpClient: make } = await import('cloudflare:sockets'); const { connect } = await import('cloudflare:sockets'); const client = await make(connect('1.1.1.1:80')); return (await client.fetch('http://1.1.1.1')).status",
    NOT_PERMITTED,
  ],
  ["node:http", "await import('node:http')", NO_MODULE],
  ["node:net", "await import('node:net')", NO_MODULE],
  ["node:dns", "await import('node:dns')", NO_MODULE],
  ["node:fs", "await import('node:fs')", NO_MODULE],
  ["node:child_process", "await import('node:child_process')", NO_MODULE],
  ["a module of the network", "await import('https://example.com/x.js')", NO_MODULE],
  ["a module out of text", "await import('data:text/javascript,export default 1')", NO_MODULE],
  ["XMLHttpRequest", "return new XMLHttpRequest()", /not defined/],
])("the network is not reached by %s", async (_, code, message) => {
  expect(failureOf(await run(code)).message).toMatch(message);
});

it.each([
  ["eval", "return eval('1 + 1')"],
  ["indirect eval", "return (0, eval)('1 + 1')"],
  ["Function", "return new Function('return 1')()"],
  ["a constructor's constructor", "return [].constructor.constructor('return 1')()"],
  ["an async function's constructor", "return (async () => {}).constructor('return 1')()"],
  [
    "a timer's text",
    "await new Promise((done) => { globalThis.done = done; setTimeout('done()', 1); }); return 1",
  ],
  ["WebAssembly", "return new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))"],
])("code made at run time is not run: %s", async (_, code) => {
  expect(failureOf(await run(code)).code).toMatch(/^tool_/);
});

it.each([
  ["bindings", "const { env } = await import('cloudflare:workers'); return Object.keys(env)", []],
  ["settings", "return { ...(await import('node:process')).env }", {}],
  ["the process", "return typeof process", "undefined"],
  ["caches", "return typeof caches", "undefined"],
  ["the object", "return typeof this === 'undefined' || Object.keys(this)", true],
  [
    "the store",
    "return [typeof store, typeof state, typeof ctx, typeof env, typeof host]",
    Array(5).fill("undefined"),
  ],
  ["tools that were not given", "return Object.keys(tools)", []],
])("the environment of the code does not expose %s", async (_, code, expected) => {
  expect(returnedBy(await run(code))).toEqual(expected);
});

it("the environment of the code reveals nothing to code that leaves its function", async () => {
  const code =
    "}} export const own = (await import('./main.js')).default.name; export const more = async () => {{";
  const outcome = await run(code);
  expect(JSON.stringify(outcome)).not.toContain("own");
});

it("the environment of the code has no cache from which another run could read", async () => {
  const path = "'http://cache/x'";
  await run(
    `const { cache } = await import('cloudflare:workers'); await cache.put?.(${path}, new Response('left'))`,
  );
  const code = `const { cache } = await import('cloudflare:workers'); return (await cache.match?.(${path}))?.text() ?? null`;
  expect(JSON.stringify(await run(code))).not.toContain("left");
});

it("another run sees no globals of this one, nor what it did to prototypes", async () => {
  await inObject(async (sandbox) => {
    const first = `globalThis.left = 1; Object.prototype.polluted = 1; Array.prototype.map = () => 'mine';
        JSON.stringify = () => '"mine"'; Promise.prototype.then = undefined; return 1`;
    await runCode(sandbox, first);
    const second = "return [typeof left, {}.polluted === undefined, [1].map((n) => n + 1)]";
    expect(returnedBy(await runCode(sandbox, second))).toEqual(["undefined", true, [2]]);
  });
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  expect(Reflect.get(globalThis, "left")).toBeUndefined();
});

it("prototypes in results stay data", async () => {
  const store = new MemoryStore();
  const code = `vars.a = JSON.parse('{"__proto__": {"admin": true}, "constructor": {"prototype": {"x": 1}}}');
      Object.defineProperty(vars, "__proto__", { value: { admin: true }, enumerable: true }); return 1`;
  const outcome = await run(code, { store });
  expect(outcome).toMatchObject({ output: { returned: { value: 1 } } });
  const a = await store.read("a");
  expect(Object.keys(Object(a))).toEqual(["__proto__", "constructor"]);
  expect(Reflect.get({}, "admin")).toBeUndefined();
  expect(Reflect.get({}, "x")).toBeUndefined();
});

it("prototypes in results do not forge an answer", async () => {
  const code = `const { WorkerEntrypoint } = await import('cloudflare:workers');
      Object.prototype.error = { message: 'forged', line: 1e9 }; Object.prototype.returned = { x: 1 };
      Object.prototype.toJSON = () => 'forged'; return { real: 1 }`;
  const outcome = await run(code);
  expect(JSON.stringify(outcome).length).toBeLessThan(500);
  expect(Reflect.get({}, "error")).toBeUndefined();
});

describe("time and memory", () => {
  const timeMs = 300;

  it.each([
    ["an endless loop that waits", "for (;;) await new Promise((done) => setTimeout(done, 5))"],
    ["a timer that never stops", "await new Promise(() => setInterval(() => {}, 10))"],
    ["a wait of an hour", "await scheduler.wait(3_600_000)"],
  ])("end %s", async (_, code) => {
    const failure = failureOf(await run(code, { timeMs }));
    expect(failure).toMatchObject({
      code: "tool_timeout",
      message: "The code did not finish within 300 ms.",
    });
  });

  it.each([
    ["a promise that is never settled", "await new Promise(() => {})"],
    ["an awaited object that is not a promise", "return { then() {} }"],
    ["a module that waits for ever", "}} await new Promise(() => {}); {{"],
  ])("end %s", async (_, code) => {
    expect(failureOf(await run(code, { timeMs: 3_000 })).message).toMatch(/./);
  });

  it.each([
    ["a text longer than the engine's", "return 'x'.repeat(2 ** 30).length"],
    ["a terabyte", "return new ArrayBuffer(2 ** 40).byteLength"],
    ["an enormous array", "return new Array(2 ** 32).length"],
    ["recursion", "const f = () => f() + 1; return f()"],
  ])("have a limit for %s", async (_, code) => {
    expect(failureOf(await run(code)).message).toMatch(/RangeError/);
  });

  it("end for callbacks, too: nothing is called after the end", async () => {
    const store = new MemoryStore();
    const ping = await recordingTool(store, "ping", () => 1);
    const loop = `const loop = async () => { for (;;) { try { await tools.ping({}); } catch {} await scheduler.wait(5); } };`;
    const { waited, inputs } = await inObject(async (sandbox) => {
      await runCode(
        sandbox,
        `${loop} await tools.ping({}); loop(); await scheduler.wait(30); return 1`,
        { store, tools: [ping] },
      );
      const kept = `const { waitUntil } = await import('cloudflare:workers'); ${loop} waitUntil(loop()); return 2`;
      await runCode(sandbox, kept, { store, tools: [ping] });
      await runCode(sandbox, `${loop} await loop()`, { store, tools: [ping], timeMs: 50 });
      const inputs = ping.inputs.length;
      await new Promise((done) => setTimeout(done, 300));
      return { waited: ping.inputs.length, inputs };
    });
    expect(inputs).toBeGreaterThan(0);
    expect(waited).toBe(inputs);
  });
});
