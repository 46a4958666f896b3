import type { ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { approvalState, approvedBy, isDeclined, questionAbout } from "../src/approvals.ts";
import { ApprovalLedger } from "../../../src/tool/approval-ledger.ts";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";

/** Creates the context of a request with these answers and this state. */
function contextWith(inputResponses: unknown, state?: unknown): ServerContext {
  return { mcpReq: { inputResponses, requestState: () => state } } as unknown as ServerContext;
}

const answered = (action: string) => ({ approve: { action, content: {} } });

describe("a person's answer", () => {
  /** Returns whether a call whose question was asked may run after these answers. */
  function mayRun(inputResponses: unknown) {
    const approvals = new ApprovalLedger<string>();
    const state = approvalState("pay", "pin", approvals);
    return approvedBy("pay", contextWith(inputResponses, state), approvals)("pin");
  }

  it("approves the call only if the person accepts", () => {
    expect(mayRun(answered("accept"))).toBe(true);
    expect(mayRun(answered("decline"))).toBe(false);
    expect(mayRun(answered("cancel"))).toBe(false);
  });

  it("approves nothing if it is missing or is an answer to another question", () => {
    expect(mayRun(undefined)).toBe(false);
    expect(mayRun({ other: { action: "accept", content: {} } })).toBe(false);
    expect(mayRun({ approve: { roots: [] } })).toBe(false);
  });

  it("approves nothing without the state of the question", () => {
    const context = contextWith(answered("accept"));
    expect(approvedBy("pay", context, new ApprovalLedger<string>())("pin")).toBe(false);
  });

  it("declines the call unless the person accepts or has not answered", () => {
    const ledger = new ApprovalLedger<string>();
    expect(isDeclined(contextWith(answered("decline")), ledger)).toBe(true);
    expect(isDeclined(contextWith(answered("cancel")), ledger)).toBe(true);
    expect(isDeclined(contextWith(answered("accept")), ledger)).toBe(false);
    expect(isDeclined(contextWith(undefined), ledger)).toBe(false);
  });
});

describe("the question about a call", () => {
  const asked = (diffs?: readonly VariableDiff[]) => {
    const approval = { reason: "It pays.", input: '{"to":"a"}', ...(diffs && { diffs }) };
    return questionAbout("pay", {
      kind: "approval",
      approval: approval as ApprovalRequest,
      pin: "secret",
    });
  };

  it("shows each edited variable before the input, with the version before", () => {
    const diffs = [
      { name: "a", version: 2, from: { name: "b", version: 1 }, diff: "  -x\n+y\n" },
      { name: "c", version: 3, diff: "-1\n+2\n" },
    ];
    expect(asked(diffs)).toBe(
      'Run pay? It pays.\n\n$a was edited from $b, version 1:\n  -x\n+y\n\n$c was edited:\n-1\n+2\n\n{"to":"a"}',
    );
  });

  it("says how many lines of an edit are not shown", () => {
    expect(asked([{ name: "a", version: 2, diff: "-x\n+y\n", more: 7 }])).toContain(
      "\n\n$a was edited:\n-x\n+y\n… (+7 lines)\n\n{",
    );
  });

  it.each([
    ["sealed", "the change is sealed"],
    ["too_large", "the values are too large to compare"],
    ["gone", "the value before is not kept"],
    [undefined, "the value before is not kept"],
  ] as const)("says why an edit is not shown: %s", (withheld, why) => {
    const diff = { name: "a", version: 2, ...(withheld && { withheld }) };
    expect(asked([diff])).toBe(`Run pay? It pays.\n\n$a was edited: ${why}.\n\n{"to":"a"}`);
  });
});
