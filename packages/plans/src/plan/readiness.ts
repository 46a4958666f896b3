import { characters } from "../../../../src/internal.ts";
import type { CheckedCall, CheckedNeed } from "./check-plan.ts";
import type { Writer, Writers } from "./path-index.ts";
import type { CallState, GateDecision } from "./plan-record.ts";

/** Whether a call may start now, has to wait, or can never start. */
type Readiness =
  | { readonly kind: "ready" }
  | { readonly kind: "waiting"; readonly gate?: string }
  | { readonly kind: "skipped"; readonly reason: string };

export interface Progress {
  readonly stateOf: (call: number) => CallState;
  readonly idOf: (call: number) => string;
  readonly decisionOn: (gate: string) => GateDecision | undefined;
}

/** Determines a call's readiness from the states of the calls that it depends on. */
export function readinessOf(call: CheckedCall, progress: Progress): Readiness {
  for (const before of call.dependsOn) {
    const { status } = progress.stateOf(before);
    if (status === "waiting" || status === "running") return { kind: "waiting" };
  }
  for (const need of call.needs) {
    const missing = missingIn(need, progress);
    if (missing !== undefined) return { kind: "skipped", reason: missing };
  }
  for (const gate of call.gates) {
    const decision = progress.decisionOn(gate);
    if (decision === undefined) return { kind: "waiting", gate };
    if (!decision.approved) return { kind: "skipped", reason: deniedReason(gate, decision) };
  }
  return { kind: "ready" };
}

/** The reason for skipping a call that a person denied. */
export function deniedReason(gate: string, { reason }: GateDecision): string {
  return `approvals.${gate} was denied${reason === undefined ? "." : `: ${reason}`}`;
}

/** Maximum number of writers named in a reason. The missing paths are limited too. */
const MAX_NAMED = 3;
const MAX_SOURCE_CHARS = 200;

/** Why the need is not met. Undefined if it is met. */
function missingIn({ operator, writers, source }: CheckedNeed, progress: Progress) {
  const reasons = new Set<string>();
  for (const found of writers) {
    const reason = found === undefined ? undefined : whyMissing(found, progress);
    if (reason === undefined && operator === "first") return undefined;
    if (reason !== undefined && reasons.size < MAX_NAMED) reasons.add(reason);
  }
  if (reasons.size === 0) return undefined;
  return `${characters.clip(source, MAX_SOURCE_CHARS)} is not there: ${[...reasons].join("; ")}.`;
}

function whyMissing({ whole, parts }: Writers, progress: Progress): string | undefined {
  if (whole.some((writer) => hasWritten(writer, progress))) return undefined;
  const failed = parts.find(({ call }) => progress.stateOf(call).status !== "done");
  if (failed === undefined && parts.some((writer) => hasWritten(writer, progress)))
    return undefined;
  const [writer = failed] = failed === undefined ? [...whole, ...parts] : [failed];
  if (writer === undefined) return "nothing writes it";
  const { status } = progress.stateOf(writer.call);
  const id = progress.idOf(writer.call);
  return status === "done"
    ? `${id} wrote elsewhere`
    : `${id} ${status === "failed" ? "failed" : "was skipped"}`;
}

function hasWritten({ call, source }: Writer, { stateOf }: Progress): boolean {
  const { status, places = [] } = stateOf(call);
  return status === "done" && (source === undefined || places.includes(source));
}
