import { json, targets, type VariableStore } from "../../../../src/internal.ts";
import { changedIn, saveTargets, type StoredMessage } from "../../../../src/internal-tool.ts";
import { formatPath, type Json, parsePath } from "../../../../src/references.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { MAY_HAVE_URL } from "../plan/write-answer.ts";
import type { PastAnswer, PastCall, PastStep, SavedPlace } from "./slice-calls.ts";

/** What happened in a conversation, as far as its messages and variables tell. */
export interface ConversationPast {
  readonly steps: readonly PastStep[];
  readonly outputs: ReadonlyMap<string, Json>;
  /** Calls that a model wrote after it had seen untrusted content. */
  readonly tainted: ReadonlySet<string>;
  /** The answer that was asked for. */
  readonly answer?: PastAnswer & { readonly isTainted: boolean };
}

/** Reads the calls of all messages, or of those up to an answer. Failed calls, and calls without a result, are left out. */
export function pastOf(
  messages: Iterable<StoredMessage>,
  store: Pick<VariableStore, "list">,
  answer?: string,
): ConversationPast {
  const steps: PastStep[] = [];
  const outputs = new Map<string, Json>();
  const tainted = new Set<string>();
  const times: { readonly at: number; readonly createdAt: string }[] = [];
  let question = "";
  let found: ConversationPast["answer"];
  for (const message of messages) {
    times.push({ at: steps.length, createdAt: message.createdAt });
    if (message.role === "user") question = textsOf(message).join("\n");
    for (const part of message.parts) {
      if (!("toolCallId" in part) || part.state !== "output-available") continue;
      // The history consists of JSON.
      const { input = part.input as Json } = changedIn(part) ?? {};
      const output = part.output as Json;
      const tool = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
      const call = { id: part.toolCallId, tool, input };
      outputs.set(call.id, output);
      if (message.tainted === true) tainted.add(call.id);
      steps.push({
        ...call,
        saved: savedBy(call, output),
        ...json.compact({ unresolved: unresolvedIn(call, output) }),
      });
    }
    if (message.id !== answer || message.role !== "assistant") continue;
    const placed = new Set((message.receipt?.spans ?? []).map(({ source }) => source));
    found = { text: answerIn(message), placed, question, isTainted: message.tainted === true };
    break;
  }
  return {
    steps: withGiven(steps, times, store.list()),
    outputs,
    tainted,
    ...json.compact({ answer: found }),
  };
}

function textsOf({ parts }: StoredMessage): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** What an answer says after its last call. */
function answerIn(message: StoredMessage): string {
  const last = message.parts.findLastIndex((part) => "toolCallId" in part);
  const after = textsOf({ ...message, parts: message.parts.slice(last + 1) });
  return (after.length === 0 ? textsOf(message) : after).join("\n\n");
}

/** The runtime's own tools that save variables. The other ones only show them. */
const SAVING = new Set(["set_variable", "edit_variable", "query_variables", "run_code"]);
const SHOWING =
  /^(?:list_variables|read_variable|search_variable|delete_variable|export_variable|propose_plan)$/;

function savedBy(
  { tool, input }: Pick<PastCall, "tool" | "input">,
  output: Json,
): readonly SavedPlace[] {
  if (SHOWING.test(tool) || !json.isJsonObject(output)) return [];
  const own = json.isJsonObject(input) ? input : {};
  if (tool === "run_code") {
    const { returned, vars } = output;
    const assigned = vars !== undefined && json.isJsonArray(vars) ? vars : [];
    return [
      ...placesOf(returned),
      ...assigned
        .flatMap((one) => placesOf(one))
        .map((place) => ({ ...place, isAssigned: true as const })),
    ];
  }
  const [place] = placesOf(output);
  if (place === undefined) return [];
  if (!SAVING.has(tool)) {
    const all = placesIn(own["_outputPath"]);
    return all.length > 1 ? all : [place];
  }
  const named = tool === "set_variable" ? own["name"] : (own["saveAs"] ?? own["name"]);
  if (tool === "query_variables" || typeof named !== "string") return [place];
  return [{ ...place, path: targets.targetIn(named).path }];
}

function placesOf(output: Json | undefined): readonly SavedPlace[] {
  if (output === undefined || !json.isJsonObject(output)) return [];
  const { $var: name, path } = output;
  if (typeof name !== "string") return [];
  return [{ name, path: (typeof path === "string" ? parsePath(path) : undefined) ?? [] }];
}

/** Outputs list so many at most. */
const MAX_UNRESOLVED = 5;

/** Undefined if the output does not list all of them. */
function unresolvedIn(
  { tool }: Pick<PastCall, "tool">,
  output: Json,
): readonly string[] | undefined {
  const listsNone = SHOWING.test(tool) || (SAVING.has(tool) && tool !== "set_variable");
  if (listsNone || !json.isJsonObject(output) || "visibility" in output) return undefined;
  const { unresolved = [] } = output;
  if (!json.isJsonArray(unresolved) || unresolved.length >= MAX_UNRESOLVED) return undefined;
  return unresolved.map((one) => String(json.isJsonObject(one) ? one["reference"] : ""));
}

/** The places of `$a && $b`, of which the output names the first. */
function placesIn(written: Json | undefined): readonly SavedPlace[] {
  if (typeof written !== "string" || !written.includes("&&")) return [];
  return saveTargets.saveTargetIn(written).places.map(({ name, path }) => ({ name, path }));
}

/** Adds the writes of others to variables that calls write too, before the first message that came after them. */
function withGiven(
  calls: readonly PastStep[],
  times: readonly { readonly at: number; readonly createdAt: string }[],
  infos: readonly VariableInfo[],
): readonly PastStep[] {
  const ids = new Set(calls.flatMap((step) => ("id" in step ? step.id : [])));
  const written = new Set(
    calls.flatMap((step) => ("saved" in step ? step.saved.map(({ name }) => name) : [])),
  );
  const steps: (readonly PastStep[])[] = calls.map((step) => [step]);
  const last: PastStep[] = [];
  for (const { name, toolCallId = "", updatedAt } of infos) {
    if (!written.has(name) || ids.has(toolCallId)) continue;
    const { at = calls.length } = times.find(({ createdAt }) => createdAt > updatedAt) ?? {};
    const before = steps[at];
    if (before === undefined) last.push({ given: name });
    else steps[at] = [{ given: name }, ...before];
  }
  return [...steps.flat(), ...last];
}

/** The value in a call's output, if it is shown there in full and is nobody else's. */
export function shownValue(output: Json | undefined, name: string): Json | undefined {
  if (output === undefined || !json.isJsonObject(output)) return undefined;
  const vars = output["vars"];
  const all = [
    output,
    ...[output["returned"]].flatMap((one) => one ?? []),
    ...(vars !== undefined && json.isJsonArray(vars) ? vars : []),
  ];
  const own = all.filter((one) => json.isJsonObject(one)).find((one) => one["$var"] === name);
  if (own === undefined || "untrusted" in own || formatPath(placesOf(own)[0]?.path ?? []) !== "") {
    return undefined;
  }
  const { value } = own;
  // The output does not say who built a URL.
  return MAY_HAVE_URL.test(JSON.stringify(value ?? null).replaceAll('":', '" '))
    ? undefined
    : value;
}
