import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { failureOf, fakeTool, returnedBy, runCode } from "../../support/run-code.ts";
import { inObject, runInObject as run } from "../../support/run-code-in-object.ts";

const NOT_PERMITTED = /not permitted to access the internet/;
const NO_MODULE = /No such module/;

describe("the network", () => {
  it.each([
    ["fetch", "return (await fetch('https://example.com')).status", NOT_PERMITTED],
    [
      "fetch of this machine",
      "return (await fetch('http://127.0.0.1:8787')).status",
      NOT_PERMITTED,
    ],
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
  ])("is not reached by %s", async (_, code, message) => {
    expect(failureOf(await run(code)).message).toMatch(message);
  });
});

describe("code made at run time", () => {
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
  ])("is not run: %s", async (_, code) => {
    expect(failureOf(await run(code)).code).toMatch(/^tool_/);
  });
});

describe("the environment of the code", () => {
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
  ])("does not expose %s", async (_, code, expected) => {
    expect(returnedBy(await run(code))).toEqual(expected);
  });

  it("reveals nothing to code that leaves its function", async () => {
    const code =
      "}} export const own = (await import('./main.js')).default.name; export const more = async () => {{";
    const outcome = await run(code);
    expect(JSON.stringify(outcome)).not.toContain("own");
  });

  it("has no cache from which another run could read", async () => {
    const path = "'http://cache/x'";
    await run(
      `const { cache } = await import('cloudflare:workers'); await cache.put?.(${path}, new Response('left'))`,
    );
    const code = `const { cache } = await import('cloudflare:workers'); return (await cache.match?.(${path}))?.text() ?? null`;
    expect(JSON.stringify(await run(code))).not.toContain("left");
  });
});

describe("another run", () => {
  it("sees no globals of this one, nor what it did to prototypes", async () => {
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

  it("has a new isolate, even for the same code", async () => {
    const code = "globalThis.count = (globalThis.count ?? 0) + 1; return count";
    await inObject(async (sandbox) => {
      await runCode(sandbox, code);
      expect(returnedBy(await runCode(sandbox, code))).toBe(1);
    });
  });
});

describe("prototypes in results", () => {
  it("stay data", async () => {
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

  it("do not forge an answer", async () => {
    const code = `const { WorkerEntrypoint } = await import('cloudflare:workers');
      Object.prototype.error = { message: 'forged', line: 1e9 }; Object.prototype.returned = { x: 1 };
      Object.prototype.toJSON = () => 'forged'; return { real: 1 }`;
    const outcome = await run(code);
    expect(JSON.stringify(outcome).length).toBeLessThan(500);
    expect(Reflect.get({}, "error")).toBeUndefined();
  });
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

  it("end when the turn does", async () => {
    const outcome = await inObject((sandbox) => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 50);
      return runCode(sandbox, "await scheduler.wait(60_000)", { signal: stop.signal });
    });
    expect(failureOf(outcome)).toMatchObject({ message: "run_code was stopped." });
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
    const ping = fakeTool(store, { name: "ping" }, () => 1);
    const loop = `const loop = async () => { for (;;) { try { await tools.ping({}); } catch {} await scheduler.wait(5); } };`;
    const { waited, inputs } = await inObject(async (sandbox) => {
      await runCode(
        sandbox,
        `${loop} await tools.ping({}); loop(); await scheduler.wait(30); return 1`,
        {
          store,
          tools: [ping],
        },
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
