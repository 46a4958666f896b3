import { expect, it } from "vitest";
import { approvalOf } from "../src/plan/call-approval.ts";
import { digestOf } from "../../../src/tool/tool-input.ts";
import type { Ready } from "../../../src/tool/wrapped-tool.ts";

/** Found among 30 million inputs in a minute: their digests have the same first 12 digits. */
const APPROVED = { to: "ada992801" };
const OTHER = { to: "ada20444031" };

async function gateFor(input: typeof APPROVED, isOpen: (gate: string) => boolean) {
  const ready: Ready = {
    kind: "ready",
    input,
    references: { authoredChars: 0, resolvedChars: 0, values: [] },
    variables: [],
    visibility: "model",
    pin: await digestOf(input),
    approval: { reason: "It sends.", input: JSON.stringify(input) },
    run: () => Promise.reject(new Error("It does not run.")),
  };
  const state = await approvalOf({
    id: "run.call",
    ready,
    state: { status: "waiting" },
    decisionOn: (gate) => (isOpen(gate) ? { approved: true } : undefined),
    inputNow: async () => ({ text: JSON.stringify(input), digest: ready.pin }),
  });
  return state?.gate;
}

it("a gate that a person opened for one input is closed for another one, also if it was searched for", async () => {
  const digests = await Promise.all([APPROVED, OTHER].map((input) => digestOf(input)));
  expect(digests[0]?.slice(0, 12)).toBe(digests[1]?.slice(0, 12));
  const opened = await gateFor(APPROVED, () => false);
  expect(await gateFor(APPROVED, (gate) => gate === opened)).toBeUndefined();
  expect(await gateFor(OTHER, (gate) => gate === opened)).toMatch(/^run\.call\./u);
});
