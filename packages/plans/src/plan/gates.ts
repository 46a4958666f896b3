import { ByrefError } from "../../../../src/errors.ts";
import { type RunRecord, stateIn, GATES } from "./plan-record.ts";
import type { Finding } from "./plan-format.ts";
import { characters, type Need, needsIn } from "../../../../src/internal.ts";
import type { Plan, PlanCall } from "../../../../src/internal-tool.ts";
import type { Reference, SyntaxName } from "../../../../src/references.ts";

/** The gates that a call reads. They have to be opened before it starts. */
export function gatesIn(
  { parameters, gates = [] }: PlanCall,
  { syntaxes }: Plan,
): readonly string[] {
  const read = needsIn(parameters, syntaxes).flatMap(({ references }) =>
    references.flatMap((reference) => keyOf(reference) ?? []),
  );
  return [...new Set([...gates.flatMap((text) => gateIn(text, syntaxes) ?? []), ...read])];
}

/** The name of the gate that a reference reads, or of which it reads a part. Undefined if no URL can have the name. */
function keyOf({ name, path: [first] }: Reference): string | undefined {
  if (name !== GATES || first === undefined || !("key" in first)) return undefined;
  return /^\.{0,2}$|\p{Surrogate}/u.test(first.key) ? undefined : first.key;
}

/**
 * The name of the gate that the text is, written with a dagger or as the plan's references are; undefined if
 * it is anything else.
 */
function gateIn(text: string, syntaxes: Plan["syntaxes"]): string | undefined {
  const [need, ...others] = needsIn(text, [...new Set<SyntaxName>(["dagger", ...syntaxes])]);
  if (need?.source !== text || others.length > 0) return undefined;
  const [reference, ...more] = need.references;
  return more.length > 0 || reference?.path.length !== 1 ? undefined : keyOf(reference);
}

/** Reports texts in `_after` that are no gates. */
export function afterFindings(
  { gates = [] }: PlanCall,
  { syntaxes }: Plan,
): readonly Omit<Finding, "call">[] {
  const wrong = gates.find((text) => gateIn(text, syntaxes) === undefined);
  if (wrong === undefined) return [];
  const message = `"${characters.clip(wrong, MAX_SHOWN_CHARS)}" is not a gate: write †${GATES}.name. A call whose result is read needs no _after.`;
  return [{ code: "bad_reference", at: "_after", message }];
}

const MAX_SHOWN_CHARS = 80;

/** The undecided gates that calls of the run wait for. */
export function openGates(plan: Plan, record: RunRecord): ReadonlySet<string> {
  const gates = plan.calls.flatMap((call) => {
    const { status, gate } = stateIn(record, call.id);
    if (status !== "waiting") return [];
    return gate === undefined ? gatesIn(call, plan) : [gate, ...gatesIn(call, plan)];
  });
  return new Set(gates.filter((gate) => !Object.hasOwn(record.gates, gate)));
}

export function waitsFor(plan: Plan, record: RunRecord, gate: string): boolean {
  return openGates(plan, record).has(gate);
}

export function nothingWaits(): ByrefError {
  return new ByrefError("approval_not_found", "This approval is no longer pending.");
}

/** A string in a call's parameters. */
export interface ParameterText {
  /** The keys and indices of its location. */
  readonly path: readonly (string | number)[];
  readonly text: string;
  readonly needs: readonly Need[];
}

/** Matches text that looks like a gate, well-formed or not. */
const MENTION = /(?<!\\)†\s*approvals(?!\w)/gu;
/** Matches a text that begins with a well-formed gate. No word may follow it directly. */
const GATE =
  /^†approvals(?:\.\w+|\["[^"\\]*"\]|\['[^'\\]*'\])(?![^\s,;:!?)\]}"'†|&]*[\p{L}\p{N}_*[])/u;

/** Reports malformed gates. They would not block the call, although the plan's author relies on them. */
export function gateFindings(
  { text, path, needs }: ParameterText,
  { format }: Plan,
): readonly Omit<Finding, "call">[] {
  const gates = needs.flatMap(({ references }) => references.filter(({ name }) => name === GATES));
  const isOneKey = gates.every((gate) => gate.path.length === 1 && keyOf(gate) !== undefined);
  const isRight = isOneKey && (format !== "json" || areGates(text, gates.length));
  if (isRight) return [];
  const message = `A gate is written †${GATES}.name, the name one word of letters, digits and underscores, nothing behind it.`;
  return [{ code: "bad_reference", at: path.join("."), message }];
}

/** True if every piece of text that looks like a gate is one, and is read as a reference. */
function areGates(text: string, count: number): boolean {
  const mentions = Array.from(text.matchAll(MENTION), ({ index }) => index);
  return mentions.length <= count && mentions.every((index) => GATE.test(text.slice(index)));
}
