import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  allOf,
  type Policy,
  type PolicyCall,
  requireTrusted,
  failed,
  failedCall,
  fitsName,
  type TrustOptions,
  unresolvedCall,
  approvalRequest,
} from "../../src/tool/policy.ts";
import { Taint, Labels, type Consumed } from "../../src/store/labels.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";
import { call } from "../support/wrapped.ts";
import type { WrapOptions, AnyTool } from "../../src/tool/wrapped-tool.ts";
import { ByrefError } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { maxReasonChars } from "../../src/limits.ts";

async function store() {
  const made = new MemoryStore();
  await made.save({ name: "mine", value: ["a"], sources: ["caller"] });
  await made.save({ name: "mail", value: "From afar.", sources: ["mcp:mail"], trusted: false });
  await made.save({ name: "ssn", value: "078", visibility: "sealed" });
  await made.save({ name: "key", value: "k-1", visibility: "secret" });
  return made;
}

async function prepare(input: Json, options: Partial<WrapOptions> = {}) {
  let runs = 0;
  const send = tool({ inputSchema: z.any(), execute: () => ++runs });
  const wrapped = await wrapTool("send_email", send, { store: await store(), ...options });
  const ready = await wrapped.prepare(input, call);
  return { ready, runs: () => runs };
}

describe("a policy", () => {
  it("is asked before the tool runs, with everything it needs to decide", async () => {
    const asked: PolicyCall[] = [];
    const policy: Policy = (given) => {
      asked.push(given);
      return "allow";
    };
    const input = { to: "$mine[0]", text: "$mail and $mail, $ssn" };
    const own = (name: string) => ({ name, madeOf: { [name]: 1 } });
    const { ready, runs } = await prepare(input, { policy, taint: new Taint(true) });
    expect(ready).toMatchObject({ kind: "ready" });
    expect(runs()).toBe(0);
    expect(asked).toEqual([
      {
        tool: "send_email",
        input,
        resolved: { to: "a", text: "From afar. and From afar., 078" },
        references: [
          { ...own("mine"), visibility: "model", sources: ["caller"], trusted: true },
          { ...own("mail"), visibility: "model", sources: ["mcp:mail"], trusted: false },
          { ...own("ssn"), visibility: "sealed", sources: ["caller"], trusted: true },
        ],
        tainted: true,
      },
    ]);
  });

  it("of a tool with `untrusted` approval asks as requireTrusted does, and other policies can only be stricter", async () => {
    const policies = { send_email: { approval: "untrusted" as const } };
    const reasonOf = async (input: Json, more: Partial<WrapOptions> = {}) => {
      const { ready } = await prepare(input, { policies, ...more });
      return ready.kind === "ready" ? (ready.approval?.reason ?? "none") : ready.code;
    };
    expect(await reasonOf({ to: "$mine[0]" })).toBe("none");
    expect(await reasonOf({ text: "$mail" })).toContain("untrusted data: $mail (mcp:mail)");
    expect(await reasonOf({}, { taint: new Taint(true) })).toContain("after the model has read");
    expect(await reasonOf({}, { policy: () => ({ ask: "Sunday?" }) })).toBe("Sunday?");
    expect(await reasonOf({ text: "$mail" }, { policy: () => ({ deny: "" }) })).toBe("tool_denied");
  });

  it("may ask a person, who sees what would run", async () => {
    const policy: Policy = async () => ({ ask: "Is this meant?" });
    const { ready } = await prepare({ to: "$mine[0]", ssn: "$ssn" }, { policy });
    expect(ready).toMatchObject({
      approval: { reason: "Is this meant?", input: '{"to":"a","ssn":"078"}' },
    });
  });
});

it.each([undefined, null, "deny", true, {}])(
  "a policy that returns no decision denies: %j",
  async (decision) => {
    const { ready } = await prepare({}, { policy: (() => decision) as unknown as Policy });
    expect(ready).toMatchObject({
      code: "tool_denied",
      message: "send_email was not allowed: the policy failed.",
    });
  },
);

it("several policies are as strict as the strictest", async () => {
  const [ask, askToo]: Policy[] = [() => ({ ask: "1" }), () => ({ ask: "2" })];
  const [deny, allow]: Policy[] = [() => ({ deny: "no." }), () => "allow"];
  const of = async (...policies: readonly (Policy | undefined)[]) =>
    allOf(...policies.filter((one) => one !== undefined))({
      tool: "t",
      input: 1,
      resolved: 1,
      references: [],
      tainted: false,
    });
  expect(await of()).toBe("allow");
  expect(await of(allow, allow)).toBe("allow");
  expect(await of(allow, ask, askToo, allow)).toEqual({ ask: "1" });
  expect(await of(ask, deny, allow)).toEqual({ deny: "no." });
});

const asking = async (needsApproval: unknown, input: Json) => {
  const made = {
    inputSchema: z.object({ n: z.number().default(7) }),
    execute: () => 1,
    needsApproval,
  };
  const wrapped = await wrapTool("act", made as never, { store: await store() });
  const ready = await wrapped.prepare(input, call);
  return ready.kind === "ready" && ready.approval !== undefined;
};

it("needsApproval means yes if it is truthy, as for the SDK, or throws", async () => {
  expect(await asking(() => undefined, {})).toBe(false);
  expect(await asking(() => [{ rule: 1 }], {})).toBe(true);
  expect(await asking(async () => false, {})).toBe(false);
  expect(await asking(async () => true, {})).toBe(true);
  const fails = () => {
    throw new Error("?");
  };
  expect(await asking(fails, {})).toBe(true);
  expect(await asking(() => Promise.reject(new Error("?")), {})).toBe(true);
});

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

  it("says what is missing, and nothing else of a guarded value", async () => {
    expect(failureOf(missing, await labelsOf("seal"))).toEqual(["There is no .x.", false]);
    for (const code of ["limit_exceeded", "number_not_exact", "bad_value"] as const) {
      const error = new ByrefError(code, "It is 5.");
      expect(failureOf(error, await labelsOf("seal"))).toEqual([guarded, false]);
      expect(failureOf(error, await labelsOf("key"))).toEqual([guarded, false]);
    }
    expect(failureOf(tooLarge, await labelsOf("mine"))).toEqual(["It has 5 bytes.", false]);
  });

  it("taints the turn if untrusted data is shown", async () => {
    expect(failureOf(missing, await labelsOf("mail"))).toEqual(["There is no .x.", true]);
    expect(failureOf(missing, await labelsOf("mail"), "hide")).toEqual(["There is no .x.", false]);
    expect(failureOf(missing, await labelsOf("mine"))).toEqual(["There is no .x.", false]);
  });
});

it("a failure has one of our codes, and a message of limited length", () => {
  expect(failed(new Error("No."))).toEqual({ kind: "failed", code: "tool_failed", message: "No." });
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
    ["*b*", "abc", true],
    ["a*aa*", "aa", false],
    ["ab*ba", "aba", false],
    ["", "a", false],
    ["*", "", true],
    ["a*a", "a", false],
    ["*_mail", "send_mails", false],
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

const using = (visibility: Consumed["visibility"]): Consumed => ({
  name: "x",
  visibility,
  sources: [],
  trusted: true,
});

function requestFor(resolved: Json, references: readonly Consumed[] = [], input: Json = "written") {
  return approvalRequest({ tool: "send", input, resolved, references });
}

type FixedRow = [Json, Json, Consumed["visibility"], readonly string[] | undefined];

describe("what a person is shown of a call", () => {
  it("is its resolved input, with the size of each parameter", () => {
    expect(requestFor({ to: "Ada", list: [1, 22], none: null })).toEqual({
      reason: "send runs when a person approves it.",
      input: '{"to":"Ada","list":[1,22],"none":null}',
      sizes: [
        { name: "to", chars: 3 },
        { name: "list", chars: 6 },
        { name: "none", chars: 4 },
      ],
    });
  });

  it("has no sizes if the input is not an object", () => {
    for (const input of [5, "text", [1], null, parsedJson("[1e400,-1234567890123456789]")])
      expect(requestFor(input)).toEqual({
        reason: expect.any(String),
        input: JSON.stringify(input),
      });
  });

  it("contains sealed values, but only the written input if there is a secret", () => {
    const input = { key: "$x" };
    expect(requestFor({ key: "value" }, [using("sealed")], input).input).toBe('{"key":"value"}');
    const references = [using("model"), using("secret")];
    expect(requestFor({ key: "value" }, references, input)).toMatchObject({
      input: '{"key":"$x"}',
      sizes: [{ name: "key", chars: 2 }],
    });
  });

  it.each<FixedRow>([
    [{ to: "Ada", n: 5 }, { to: "$x", n: 5 }, "model", undefined],
    [{ to: "Ada", n: 5 }, { to: "$x", n: 5 }, "sealed", ["to"]],
    [{ to: "Ada", n: 5 }, { to: "$x", n: "$x" }, "sealed", ["to", "n"]],
    [{ to: "$x" }, { to: "$x" }, "secret", undefined],
    [{ to: "$x, $y" }, { to: "$x, $y" }, "model", undefined],
    [{ to: "for $9.50" }, { to: "for $x" }, "model", undefined],
    ...["a $b", "${b}", "{{ b }}", "†b", "variable:b"].map((to): FixedRow => [
      { to },
      { to: "$x" },
      "model",
      ["to"],
    ]),
  ])("%j of %j, with a %s value, has fixed %j", (resolved, input, visibility, fixed) => {
    expect(requestFor(resolved, [using(visibility)], input).fixed).toEqual(fixed);
  });

  it("is the literal start of a long input, and the number of other characters", () => {
    const text = "x".repeat(limits.maxExcerptChars);
    const { input, sizes } = requestFor({ a: 1, text, last: "end" });
    const whole = JSON.stringify({ a: 1, text, last: "end" });
    const shown = whole.slice(0, limits.maxExcerptChars);
    const more = whole.length - limits.maxExcerptChars;
    expect(input).toBe(`${shown}… (+${more} characters)`);
    expect(sizes).toContainEqual({ name: "text", chars: text.length });
  });

  it("names bytes instead of showing them", () => {
    // The value of a reference to bytes.
    const photo = new Uint8Array([1, 2]) as unknown as Json;
    expect(requestFor({ photo }).input).toContain('{"photo":"[bytes]"}');
  });
});

describe("characters that a person would not see, or would see elsewhere,", () => {
  it.each([
    ["a right-to-left override", "\u202E", "\\u{202e}"],
    ["an isolate", "\u2066", "\\u{2066}"],
    ["a zero-width space", "\u200B", "\\u{200b}"],
    ["a tag, which only models read", "\u{E0041}", "\\u{e0041}"],
    ["a line separator", "\u2028", "\\u{2028}"],
    ["a control sequence of terminals", "\u009B31m", "\\u{9b}31m"],
    ["a Hangul filler", "\u3164", "\\u{3164}"],
  ])("are written as escapes: %s", (_, hidden, shown) => {
    expect(requestFor({ to: `ada${hidden}bob` }).input).toBe(`{"to":"ada${shown}bob"}`);
  });

  it("are not what joins letters and emoji", () => {
    const value = { text: "👩‍👩‍👧 می‌خواهم ❤️\n\té" };
    expect(requestFor(value).input).toBe(JSON.stringify(value));
  });
});
