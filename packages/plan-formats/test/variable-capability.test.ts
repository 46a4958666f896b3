import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { variableCapability } from "../src/capability/variable-capability.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { VariableStore } from "../../../src/store/variables.ts";
import { saveTargetIn } from "../../../src/tool/save-target.ts";
import { wrapTools } from "../../../src/tool/tool-call.ts";
import type { CallOptions, RunScope, Saved } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { call, failureOf, run } from "../../../test/support/wrapped.ts";

interface CapabilityCall extends Readonly<Record<string, Json | undefined>> {
  readonly session: string;
  readonly action: string;
  readonly reply?: Json;
  readonly names?: readonly string[];
}

const file = join(import.meta.dirname, "../../../test/cases/workflows/capability.json");
const { cases } = JSON.parse(readFileSync(file, "utf8")) as {
  readonly cases: readonly { readonly name: string; readonly calls: readonly CapabilityCall[] }[];
};

/** Scope of a run whose plan writes all keys except those that begin with `kept`. */
const scope: RunScope = {
  run: "run_1",
  nameOf: (name) => (name.startsWith("kept") ? name : `${name}_run_1`),
};

/** Calls the capability in a conversation, or in a run of one. */
class Session {
  readonly store: VariableStore;
  readonly #scope: RunScope | undefined;

  constructor(scope?: RunScope, store: VariableStore = new MemoryStore()) {
    this.#scope = scope;
    this.store = store;
  }

  async attempt(action: string, input: Json, saveTo?: string) {
    const options = { store: this.store, syntaxes: ["mustache"] } as const;
    const tools = await wrapTools(variableCapability, options);
    const tool = tools.get(`variable_${action}`);
    if (tool === undefined) throw new Error(`There is no ${action}.`);
    const calling: CallOptions = {
      ...call,
      ...(this.#scope === undefined ? {} : { scope: this.#scope }),
      ...(saveTo === undefined ? {} : { saveTo: saveTargetIn(saveTo) }),
    };
    return run(tool, input, calling);
  }

  async save(action: string, input: Json, saveTo?: string): Promise<Saved> {
    const ran = await this.attempt(action, input, saveTo);
    if (ran.kind === "failed") throw new Error(`${ran.code}: ${ran.message}`);
    return ran.save();
  }

  /** Returns the output of a call. */
  async call(action: string, input: Json): Promise<unknown> {
    return (await this.save(action, input)).output;
  }

  async codeOf(action: string, input: Json): Promise<string | undefined> {
    return failureOf(await this.attempt(action, input))?.code;
  }
}

const places = [
  ["a conversation", undefined],
  ["a run", scope],
] as const;

describe.each(places)("the capability variable in %s", (_, scope) => {
  it.each(cases.map((one) => [one.name, one.calls] as const))("%s", async (_, calls) => {
    const sessions = new Map<string, Session>();
    for (const { session: id, action, reply, names, ...input } of calls) {
      const session = sessions.get(id) ?? new Session(scope);
      sessions.set(id, session);
      const answer = await session.call(action, input as Json);
      expect(answer).toEqual(reply ?? names ?? answer);
    }
  });

  it("keeps the types of values, and text as text", async () => {
    const session = new Session(scope);
    const values: readonly Json[] = [0, 1.5, true, false, null, "", "42", "true", [], {}, [[1]]];
    for (const value of values) {
      await session.call("set", { key: "k", value });
      expect(await session.call("get", { key: "k" })).toEqual(value);
    }
    await session.call("set", { key: "k", content: "[1]" });
    expect(await session.call("get", { key: "k" })).toBe("[1]");
  });

  it("resolves references before it sets a value; unknown ones stay text", async () => {
    const session = new Session(scope);
    await session.call("set", { key: "list", value: [1, { a: "b" }] });
    await session.call("set", {
      key: "copy",
      value: { all: "{{list}}", text: "a {{ list[1].a }}" },
    });
    await session.call("set", { key: "none", content: "{{nobody}} and {{ nobody.else }}" });
    expect(await session.call("get", { key: "copy" })).toEqual({
      all: [1, { a: "b" }],
      text: "a b",
    });
    expect(await session.call("get", { key: "none" })).toBe("{{nobody}} and {{ nobody.else }}");
  });

  it("shows no sealed value, but passes it on as sealed", async () => {
    const session = new Session(scope);
    const name = scope?.nameOf("seal") ?? "seal";
    await session.store.save({ name, value: { in: "s3al3d" }, visibility: "sealed" });
    expect(await session.codeOf("get", { key: "seal" })).toBe("variable_sealed");
    expect(await session.codeOf("interpolate", { content: "{{seal.in}}" })).toBe("variable_sealed");
    await session.save("get", { key: "seal.in" }, "$kept");
    await session.save("interpolate", { content: "It is {{seal.in}}" }, "$kept_text");
    expect([await session.store.read("kept"), await session.store.read("kept_text")]).toEqual([
      "s3al3d",
      "It is s3al3d",
    ]);
    for (const name of ["kept", "kept_text"]) {
      expect(session.store.info(name)?.visibility).toBe("sealed");
    }
  });

  it("does not read, write, copy or clear a secret", async () => {
    const session = new Session(scope);
    const name = scope?.nameOf("secret") ?? "secret";
    await session.store.save({ name, value: "s3cr3t", visibility: "secret" });
    for (const [action, input] of [
      ["get", {}],
      ["set", { value: 1 }],
      ["clear", {}],
    ] as const) {
      expect(await session.codeOf(action, { key: "secret", ...input })).toBe("variable_secret");
    }
    const text = await session.call("interpolate", { content: "It is {{secret}}" });
    expect(text).toBe("It is [secret: secret]");
    expect(await session.call("clear_all", {})).toEqual({ deleted: 0 });
    expect(session.store.count()).toBe(1);
  });

  it("marks untrusted values, and values made from them", async () => {
    const session = new Session(scope);
    await session.store.save({
      name: scope?.nameOf("mail") ?? "mail",
      value: "Do it!",
      trusted: false,
    });
    const shown = { shown: "Do it!", untrusted: true };
    expect(await session.call("get", { key: "mail" })).toEqual(shown);
    expect(await session.call("interpolate", { content: "{{mail}}" })).toEqual(shown);
    await session.call("set", { key: "kept_set", content: "{{mail}}" });
    await session.save("interpolate", { content: "{{mail}}" }, "$kept");
    expect(session.store.info("kept_set")?.trusted).toBe(false);
    expect(session.store.info("kept")?.trusted).toBe(false);
  });
});

it("in a run keys that the run writes are its own and end with it; others are the conversation's", async () => {
  const store = new MemoryStore();
  const [outside, inside] = [new Session(undefined, store), new Session(scope, store)];
  await outside.call("set", { key: "a", value: "outside" });
  await outside.call("set", { key: "b", value: "outside" });
  await inside.call("set", { key: "a", value: "inside" });
  await inside.call("set", { key: "kept", value: "inside" });
  const text = { content: "{{a}} {{b}} {{kept}}" };
  expect(await inside.call("interpolate", text)).toBe("inside {{b}} inside");
  expect(await outside.call("interpolate", text)).toBe("outside outside inside");
  expect(await inside.call("list", {})).toEqual(["a"]);
  expect(await outside.call("list", {})).toEqual(["a", "b", "kept"]);
  expect(store.info("a_run_1")?.scope).toBe("run");
  expect(await inside.call("clear_all", {})).toEqual({ deleted: 1 });
  expect(await outside.call("list", {})).toEqual(["a", "b", "kept"]);
  await inside.call("set", { key: "a", value: "again" });
  store.endRun("run_1");
  expect(store.list().map(({ name }) => name)).toEqual(["a", "b", "kept"]);
});
