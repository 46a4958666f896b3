import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compileFunction } from "node:vm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { entryFolder } from "../../scripts/built.ts";
import { temporaryFolder } from "../support/server.ts";
import { slow } from "../support/slow.ts";

const entries = ["byref", "agent", "client", "references", "index"];
const folder = temporaryFolder();

beforeAll(() => {
  execFileSync(
    "esbuild",
    [
      ...entries.map((name) => `${entryFolder(name)}/${name}.ts`),
      "--entry-names=[name]",
      "--bundle",
      "--format=cjs",
      "--conditions=workerd,worker,browser",
      "--external:cloudflare:*",
      "--external:node:*",
      `--outdir=${folder}`,
    ],
    { stdio: "pipe" },
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Globals that workerd refuses outside of a handler: I/O, timers, random values, and signals (which are I/O). */
const refused = {
  AbortController: refusedClass("AbortController"),
  AbortSignal: refusedObject("AbortSignal", ["abort", "any", "timeout"]),
  BroadcastChannel: refusedClass("BroadcastChannel"),
  EventSource: refusedClass("EventSource"),
  MessageChannel: refusedClass("MessageChannel"),
  WebSocket: refusedClass("WebSocket"),
  fetch: () => refuse("fetch"),
  setImmediate: () => refuse("setImmediate"),
  setInterval: () => refuse("setInterval"),
  setTimeout: () => refuse("setTimeout"),
  Math: Object.create(Math, { random: { value: () => refuse("Math.random") } }) as Math,
  crypto: {
    getRandomValues: () => refuse("crypto.getRandomValues"),
    randomUUID: () => refuse("crypto.randomUUID"),
    subtle: new Proxy({}, { get: () => refuse("crypto.subtle") }),
  },
};

it.each(entries)("%s does at module level what workerd allows there", slow, (name) => {
  const exports = evaluate(readFileSync(join(folder, `${name}.js`), "utf8"));
  expect(Object.keys(exports).length).toBeGreaterThan(0);
});

/** Returns the module's exports, evaluated with the refused globals in place of the real ones. */
function evaluate(code: string): object {
  const scope: object = Object.create(globalThis, Object.getOwnPropertyDescriptors(refused));
  const module = { exports: {} };
  const given = { ...refused, module, require: stubbed, globalThis: scope, self: scope };
  compileFunction(code, Object.keys(given))(...Object.values(given));
  return module.exports;
}

/** Stubs a module of the platform: classes to extend, and functions that are not called while loading. */
function stubbed(): unknown {
  return new Proxy({}, { get: () => function Stub() {} });
}

function refuse(name: string): never {
  throw new Error(`${name} at module level`);
}

function refusedClass(name: string) {
  return function Refused() {
    refuse(name);
  };
}

function refusedObject(name: string, methods: readonly string[]) {
  return Object.fromEntries(methods.map((method) => [method, () => refuse(`${name}.${method}`)]));
}
