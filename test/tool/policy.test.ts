import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { allOf, type Policy, type PolicyCall, requireTrusted } from "../../src/tool/policy.ts";
import { Taint } from "../../src/store/labels.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { Json } from "../../src/value/json.ts";
import { call } from "../support/wrapped.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";

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

  it("may deny a call, and the model sees the reason", async () => {
    const { ready } = await prepare({}, { policy: () => ({ deny: "it is Sunday." }) });
    expect(ready).toEqual({
      kind: "failed",
      code: "tool_denied",
      message: "send_email was not allowed: it is Sunday.",
    });
  });

  it("may ask a person, who sees what would run", async () => {
    const policy: Policy = async () => ({ ask: "Is this meant?" });
    const { ready } = await prepare({ to: "$mine[0]", ssn: "$ssn" }, { policy });
    expect(ready).toMatchObject({
      approval: { reason: "Is this meant?", input: '{"to":"a","ssn":"078"}' },
    });
  });
});

const ask: Policy = () => ({ ask: "1" });
const askToo: Policy = () => ({ ask: "2" });
const deny: Policy = () => ({ deny: "no." });
const allow: Policy = () => "allow";
const of = async (...policies: Policy[]) =>
  allOf(...policies)({ tool: "t", input: 1, resolved: 1, references: [], tainted: false });

it("several policies are as strict as the strictest", async () => {
  expect(await of()).toBe("allow");
  expect(await of(allow, allow)).toBe("allow");
  expect(await of(allow, ask, askToo, allow)).toEqual({ ask: "1" });
  expect(await of(ask, deny, allow)).toEqual({ deny: "no." });
});

describe("requireTrusted", () => {
  const policy = requireTrusted(["send_*", "pay"]);
  const decide = (tool: string, { trusted = true, tainted = false } = {}) =>
    policy({
      tool,
      input: 1,
      resolved: 1,
      references: [{ name: "x", visibility: "model", sources: ["mcp:web"], trusted }],
      tainted,
    });

  it("lets trusted arguments through in an untainted turn", async () => {
    expect(await decide("send_email")).toBe("allow");
    expect(await decide("pay")).toBe("allow");
  });

  it("asks about untrusted data, and names its source", async () => {
    const asked = await decide("send_email", { trusted: false });
    expect(asked).toEqual({ ask: "send_email is given untrusted data: $x (mcp:web)." });
  });

  it("asks when the model has read untrusted data", async () => {
    expect(await decide("pay", { tainted: true })).toMatchObject({ ask: expect.any(String) });
  });
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

it("needsApproval that throws means yes", async () => {
  const fails = () => {
    throw new Error("?");
  };
  expect(await asking(fails, {})).toBe(true);
  expect(await asking(() => Promise.reject(new Error("?")), {})).toBe(true);
});
