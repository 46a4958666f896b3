import { getToolName, isToolUIPart, type UIMessage } from "ai";
import type { Entry } from "./ledger.ts";
import { placeOf, type Script, TOOLS } from "./script.ts";
import type { Turn } from "./turn.ts";

type Parts = UIMessage["parts"];
type Blame = (row: string, what: string) => void;

/** Leaves out calls whose input was cut off. An ended turn does not keep them. */
export function endedParts(parts: Parts): Parts {
  return parts.filter((part) => !("state" in part) || part.state !== "input-streaming");
}

const OUTCOMES: ReadonlySet<string> = new Set([
  "output-available",
  "output-error",
  "output-denied",
]);

/** Describes the calls without an outcome. An ended turn must have none. */
export function openCallsIn(parts: Parts): readonly string[] {
  return parts.flatMap((part) =>
    isToolUIPart(part) && !OUTCOMES.has(part.state)
      ? [`${getToolName(part)} ${part.toolCallId} is ${part.state}`]
      : [],
  );
}

/** True if every user message is followed by one assistant message. */
export function alternates(messages: readonly UIMessage[]): boolean {
  return (
    messages.length % 2 === 0 &&
    messages.every(({ role }, index) => role === (index % 2 === 0 ? "user" : "assistant"))
  );
}

/** Serializes the parts without what differs between turns of the same shape. */
export function plainParts(parts: Parts, { marker }: Pick<Script, "marker">): readonly string[] {
  return parts.map((part) => plainPart(part).replaceAll(marker, "TURN"));
}

function plainPart(part: Parts[number]): string {
  if (part.type === "text") return JSON.stringify({ text: part.text });
  if (!isToolUIPart(part)) return JSON.stringify(part);
  const { toolCallId, state, input } = part;
  const output = "output" in part ? part.output : undefined;
  const error = "errorText" in part ? part.errorText : undefined;
  return JSON.stringify({ tool: getToolName(part), toolCallId, state, input, output, error });
}

/** Checks in the ledger that no tool ran again that must not, and that each call has exactly one key. */
export function checkLedger({ script }: Turn, entries: readonly Entry[], blame: Blame): void {
  const { marker } = script;
  const given = new Set<string>();
  const starts = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind === "model") for (const id of entry.results) given.add(id);
    if (entry.kind !== "start") continue;
    const { id, key } = entry;
    if (given.has(id))
      blame("R3", `${marker}: ${id} runs again, its result was given to the model`);
    starts.set(id, [...(starts.get(id) ?? []), key]);
  }
  for (const [id, keys] of starts) {
    const place = placeOf(id);
    const name = place && script.steps[place.step]?.calls[place.index];
    if (name === undefined) continue;
    if (TOOLS[name].effects === "once" && keys.length > 1) {
      blame("R4", `${marker}: ${name} ${id} began ${keys.length} times`);
    }
    if (new Set(keys).size > 1 || keys.includes("")) {
      blame("R5", `${marker}: ${name} ${id} has the keys ${keys.join(", ")}`);
    }
  }
}

/** Calls that a kill may have hit between their start and their commit. */
interface Unknowns {
  /** Calls that began, have no result, and must not be repeated. */
  readonly inWindow: readonly string[];
  /** Calls that the history reports as `outcome_unknown`. */
  readonly unknown: readonly string[];
  /** Calls with a result in the history that no tool produced. */
  readonly invented: readonly string[];
}

export function unknownsIn(
  { script, outcome }: Turn,
  message: UIMessage,
  entries: readonly Entry[],
): Unknowns {
  const idsOf = (kind: "start" | "effect") =>
    new Set(entries.flatMap((entry) => (entry.kind === kind ? [entry.id] : [])));
  const [begun, worked] = [idsOf("start"), idsOf("effect")];
  const tools = message.parts.filter((part) => isToolUIPart(part));
  const done = tools.filter(({ state }) => state === "output-available");
  const doneIds = new Set(done.map(({ toolCallId }) => toolCallId));
  const inWindow = [...begun].filter((id) => {
    const place = placeOf(id);
    const name = place && script.steps[place.step]?.calls[place.index];
    if (name === undefined || doneIds.has(id)) return false;
    const { effects } = TOOLS[name];
    return effects === "once" || (effects === "idempotent" && outcome !== "finished");
  });
  return {
    inWindow,
    unknown: tools.filter(isUnknown).map(({ toolCallId }) => toolCallId),
    invented: [...doneIds].filter((id) => !worked.has(id)),
  };
}

function isUnknown(part: Parts[number]): boolean {
  return (
    isToolUIPart(part) &&
    part.state === "output-error" &&
    part.errorText.includes("outcome_unknown")
  );
}

/** Describes how the parts differ from those of an undisturbed turn, except for what a kill made unknown. */
export function differences(
  parts: Parts,
  expected: readonly string[],
  turn: Turn,
): readonly string[] {
  const plain = plainParts(parts, turn.script);
  const length = Math.max(plain.length, expected.length);
  return Array.from({ length }, (_, index) => index).flatMap((index) => {
    const [is, was] = [plain[index], expected[index]];
    const part = parts[index];
    if (is === was || (turn.kills > 0 && named(is) === named(was))) return [];
    if (turn.kills > 0 && part !== undefined && isUnknown(part) && mayBeUnknown(part)) return [];
    return [`part ${index} is ${clip(is)}, undisturbed ${clip(was)}`];
  });
}

/**
 * Strips the number of a variable. A call with an unknown outcome saves nothing, so its number may go to the
 * next call.
 */
function named(part: string | undefined): string | undefined {
  return part?.replace(/("\$var":"\w+?TURN)_\d+"/, '$1"');
}

function mayBeUnknown(part: Parts[number]): boolean {
  if (!isToolUIPart(part)) return false;
  const name = getToolName(part);
  return Object.entries(TOOLS).some(([tool, { effects }]) => tool === name && effects === "once");
}

/** Checks that the message contains everything that clients were shown. */
export function checkPromises({ promises, script }: Turn, message: UIMessage, blame: Blame): void {
  const plain = plainParts(message.parts, script);
  const outputs = new Map(
    message.parts
      .filter((part) => isToolUIPart(part))
      .map((part) => [
        part.toolCallId,
        "output" in part ? JSON.stringify(part.output) : part.state,
      ]),
  );
  for (const promised of promises) {
    for (const [index, part] of promised.parts.entries()) {
      const isWaiting = isToolUIPart(part) && part.state.startsWith("approval-");
      const [was] = plainParts([part], script);
      if (isWaiting || was === plain[index]) continue;
      blame("R2", `${script.marker}: shown ${clip(was)}, kept ${clip(plain[index])}`);
    }
    for (const [id, output] of promised.outputs) {
      if (outputs.get(id) === output) continue;
      blame("R2", `${script.marker}: ${id} was shown ${clip(output)}, kept ${outputs.get(id)}`);
    }
  }
}

export function clip(text: string | undefined): string {
  if (text === undefined) return "missing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
