import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ByrefError } from "../../src/errors.ts";
import { maxReasonChars } from "../../src/limits.ts";
import { Labels, Taint } from "../../src/store/labels.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  failed,
  failedCall,
  fitsName,
  requireTrusted,
  type TrustOptions,
  unresolvedCall,
} from "../../src/tool/policy.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { call } from "../support/wrapped.ts";

const tooLarge = new ByrefError("limit_exceeded", "It has 5 bytes.");
const guarded = "send failed; details are withheld, because its input is sealed.";
const hidden = "send failed; details are withheld, because untrusted data is involved.";

async function labelsOf(...names: readonly ("seal" | "mail" | "mine" | "key")[]) {
  const store = new MemoryStore();
  await store.save({ name: "seal", value: 1, visibility: "sealed" });
  await store.save({ name: "key", value: 1, visibility: "secret" });
  await store.save({ name: "mail", value: 1, trusted: false });
  await store.save({ name: "mine", value: 1 });
  const labels = new Labels(store);
  for (const name of names) labels.add(name);
  return labels;
}

describe("the failure of a call that ran", () => {
  const messageFor = async (labels: Labels, options: TrustOptions = {}) => {
    const taint = new Taint();
    const about = { name: "send", options: { ...options, taint }, labels };
    return [failedCall(tooLarge, about).message, taint.isTainted];
  };

  it("is withheld if a guarded value is involved, or the tool's results are", async () => {
    expect(await messageFor(await labelsOf("seal"))).toEqual([guarded, false]);
    const sealed = { policies: { send: { sealed: true } } };
    expect(await messageFor(await labelsOf(), sealed)).toEqual([
      "send failed; details are withheld, because its result is sealed.",
      false,
    ]);
    // Its results are shown, but an error may contain the input.
    const opened = { policies: { send: { declassifies: true } } };
    expect(await messageFor(await labelsOf("key"), opened)).toEqual([guarded, false]);
  });

  it("taints the turn if it may contain untrusted data, or is withheld with it", async () => {
    const untrusted = { policies: { send: { trusted: false } } };
    for (const [labels, options] of [
      [await labelsOf("mail"), {}],
      [await labelsOf(), untrusted],
    ] as const) {
      expect(await messageFor(labels, options)).toEqual(["It has 5 bytes.", true]);
      expect(await messageFor(labels, { ...options, untrusted: "hide" })).toEqual([hidden, false]);
    }
    expect(await messageFor(await labelsOf(), { untrusted: "hide" })).toEqual([
      "It has 5 bytes.",
      false,
    ]);
  });
});

describe("the failure of a call whose references could not be resolved", () => {
  const missing = new ByrefError("path_not_found", "There is no .x.");
  const failureOf = (error: unknown, labels: Labels, untrusted?: "hide") => {
    const taint = new Taint();
    const options = { taint, ...(untrusted === undefined ? {} : { untrusted }) };
    return [unresolvedCall(error, { name: "send", options, labels }).message, taint.isTainted];
  };

  it("says what is missing, and nothing else of a guarded or hidden value", async () => {
    expect(failureOf(missing, await labelsOf("seal"))).toEqual(["There is no .x.", false]);
    for (const code of ["limit_exceeded", "number_not_exact", "bad_value"] as const) {
      const error = new ByrefError(code, "It is 5.");
      expect(failureOf(error, await labelsOf("seal"))).toEqual([guarded, false]);
      expect(failureOf(error, await labelsOf("key"))).toEqual([guarded, false]);
      expect(failureOf(error, await labelsOf("mail"), "hide")).toEqual([hidden, false]);
    }
    expect(failureOf(tooLarge, await labelsOf("mine"))).toEqual(["It has 5 bytes.", false]);
  });

  it("taints the turn if untrusted data is shown", async () => {
    expect(failureOf(missing, await labelsOf("mail"))).toEqual(["There is no .x.", true]);
    expect(failureOf(missing, await labelsOf("seal", "mail"))).toEqual(["There is no .x.", true]);
    expect(failureOf(missing, await labelsOf("mail"), "hide")).toEqual(["There is no .x.", false]);
    expect(failureOf(missing, await labelsOf("mine"))).toEqual(["There is no .x.", false]);
  });
});

it("a failure has one of our codes, and a message of limited length", () => {
  expect(failed(new Error("No."))).toEqual({
    kind: "failed",
    code: "tool_failed",
    message: "No.",
  });
  expect(failed(tooLarge).code).toBe("limit_exceeded");
  expect(failed(new Error("x".repeat(maxReasonChars))).message).toBe("x".repeat(maxReasonChars));
  const long = failed(new Error("x".repeat(maxReasonChars + 7))).message;
  expect(long).toMatch(/^x{700}… \(\+57 more\) …x{250}$/u);
});

describe("a policy of trust", () => {
  it("knows a tool by each of its names", async () => {
    const about = { input: 1, resolved: 1, references: [], tainted: true };
    const decide = (tool: string, aliases?: readonly string[]) =>
      requireTrusted(["mail/*"])({ ...about, tool, ...(aliases && { aliases }) });
    expect(await decide("send", ["send_all", "mail/send"])).toEqual({
      ask: "send is called after the model has read untrusted data.",
    });
    expect([await decide("send"), await decide("send", ["shop/send"])]).toEqual(["allow", "allow"]);
  });

  it("names all sources of untrusted values", async () => {
    const from = (name: string, sources: readonly string[], trusted: boolean) =>
      ({ name, sources, trusted, visibility: "model" }) as const;
    const asked = await requireTrusted(["send"])({
      tool: "send",
      input: 1,
      resolved: 1,
      references: [
        from("a", ["mcp:x", "web"], false),
        from("b", [], true),
        from("c", ["y"], false),
      ],
      tainted: false,
    });
    expect(asked).toEqual({ ask: "send is given untrusted data: $a (mcp:x, web), $c (y)." });
  });

  it.each([
    ["a*b*c*d", "axbxcxd", true],
    ["a*bc*bc", "abc", false],
    ["a*bc*bc", "abcbc", true],
    ["*b*", "abc", true],
    ["*b*", "ac", false],
    ["a*aa*", "aa", false],
    ["ab*ba", "aba", false],
    ["", "", true],
    ["", "a", false],
    ["*", "", true],
    ["*", "x", true],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["*_mail", "send_mails", false],
    ["**", "anything", true],
    ["a.c", "abc", false],
  ])("matches %s with %s: %s", (pattern, name, fits) => {
    expect(fitsName(pattern, name)).toBe(fits);
  });

  it("asks for each call of a tool with approval: true, whatever else decides", async () => {
    const act = { inputSchema: z.any(), execute: () => 1 } as AnyTool;
    const options = { store: new MemoryStore(), policies: { act: { approval: true } } };
    const ready = await (await wrapTool("act", act, options)).prepare({ a: 1 }, call);
    expect(ready).toMatchObject({
      kind: "ready",
      approval: { reason: "act runs when a person approves it.", input: '{"a":1}' },
    });
    const policy = () => {
      throw new Error("my secret");
    };
    const denied = await (await wrapTool("act", act, { ...options, policy })).prepare({}, call);
    expect(denied).toMatchObject({ message: "act was not allowed: the policy failed." });
  });
});
