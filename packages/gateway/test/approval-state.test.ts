import type { ServerContext } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { approvalsFor, questionAbout } from "../src/gateway-server.ts";
import { ApprovalLedger } from "../../../src/tool/policy.ts";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";

/** Creates the context of a request with these answers and this state. */
function contextWith(inputResponses: unknown, state?: unknown): ServerContext {
  return { mcpReq: { inputResponses, requestState: () => state } } as unknown as ServerContext;
}

describe("a person's answer", () => {
  const accepted = { approve: { action: "accept", content: {} } };

  it.each([
    ["accepts the call", accepted, true, false],
    ["declines the call", { approve: { action: "decline" } }, false, true],
    ["is cancelled, which declines the call", { approve: { action: "cancel" } }, false, true],
    ["is missing", undefined, false, false],
    ["is an answer to another question", { other: accepted.approve }, false, false],
    ["is of another kind", { approve: { roots: [] } }, false, false],
  ])("%s", (_what, inputResponses, isApproved, isDeclined) => {
    const ledger = new ApprovalLedger<string>();
    const question = approvalsFor("pay", contextWith(undefined), ledger).ask("pin");
    const approving = approvalsFor("pay", contextWith(inputResponses, { question }), ledger);
    expect([approving.isDeclined, approving.isApproved("pin")]).toEqual([isDeclined, isApproved]);
  });

  it("approves nothing without the state of the question", () => {
    const approving = approvalsFor("pay", contextWith(accepted), new ApprovalLedger<string>());
    expect(approving.isApproved("pin")).toBe(false);
  });
});

describe("the question about a call", () => {
  const asked = (diffs?: readonly VariableDiff[]) => {
    const approval = { reason: "It pays.", input: '{"to":"a"}', ...(diffs && { diffs }) };
    return questionAbout("pay", {
      kind: "approval",
      approval: approval as ApprovalRequest,
      question: "q",
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
