import {
  compact,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonObject,
} from "../value/json.ts";
import { ByrefError, codeOf, type ErrorCode, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { nearest } from "../reference/near.ts";
import type { Consumed, Labels, ResultPolicy, Taint } from "../store/labels.ts";
import { clip, visibleText } from "../value/characters.ts";
import type { Diff } from "../value/line-diff.ts";
import { charsOf, jsonChars } from "../value/json-text.ts";

/** Rules for which calls may run, and which results the model and people see. */
export interface TrustOptions {
  /**
   * Policies by tool: the secrets it receives, and the labels of its results. Default: no secrets, results shown and
   * trusted.
   */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  /** Decides about each call before it runs. Default: all calls may run. */
  readonly policy?: Policy;
  /**
   * `show` (default): untrusted results are shown, and marked as untrusted; `hide`: they are hidden until the model
   * requests them.
   */
  readonly untrusted?: "show" | "hide";
  /** Records whether the model has seen untrusted data; updated when it sees more. */
  readonly taint?: Taint;
}

/** An agent's rules for one of its tools: its inputs and its results. */
export interface ToolPolicy extends ResultPolicy {
  /** Names of the secret variables that the tool may receive. Default: none. */
  readonly secrets?: readonly string[];
  /**
   * Requires a person's approval: of each call, or as `requireTrusted` does, of calls that pass on what is not
   * trusted or follow it. Default: false.
   */
  readonly approval?: boolean | "untrusted";
  /** Results of more characters are shown as a handle. Default: the agent's `inlineChars`. */
  readonly inlineChars?: number;
  /**
   * How the tool receives numbers that a double does not give back, such as 1234567890123456789: as a text, a BigInt
   * (whole numbers), or `JSON.rawJSON`, which `JSON.stringify` writes as it was written. Default: as a text where its
   * schema takes texts; elsewhere the call fails with `number_not_exact`.
   */
  readonly numbers?: "text" | "bigint" | "raw";
  /** Other names by which a policy may refer to the tool, its own name first: `delete_all` and `mail/delete_all`. */
  readonly aliases?: readonly string[];
}

/** A call that is about to run. */
export interface PolicyCall {
  readonly tool: string;
  /** Other names of the same tool: for an MCP server's tool, its own name and `server/name`. */
  readonly aliases?: readonly string[];
  /** The input as the model wrote it, with references. */
  readonly input: Json;
  /** The input with references resolved, guarded values included. */
  readonly resolved: Json;
  /** The variables that the input refers to, each once. */
  readonly references: readonly Consumed[];
  /**
   * True if the model has seen untrusted data in this turn. Text that it writes then counts as untrusted,
   * too.
   */
  readonly tainted: boolean;
}

/** A policy's decision about a call. */
export type Decision =
  | "allow"
  /** The model receives the reason. */
  | { readonly deny: string }
  /** A person receives the reason, and approves or denies the call. */
  | { readonly ask: string };

/** Decides about each call before it runs. If it throws, the call is denied. */
export type Policy = (call: PolicyCall) => Decision | Promise<Decision>;

/**
 * Returns a policy by which these tools run without a person's approval only on trusted arguments, and only
 * in a turn in which the model has seen no untrusted data. `*` matches any characters.
 */
export function requireTrusted(tools: readonly string[]): Policy {
  return ({ tool, aliases = [], references, tainted }) => {
    const isListed = [tool, ...aliases].some((name) => tools.some((one) => fitsName(one, name)));
    if (!isListed) return "allow";
    const untrustedReferences = references.filter(({ trusted }) => !trusted);
    if (untrustedReferences.length > 0) {
      const names = untrustedReferences.map(
        ({ name, sources }) => `$${name} (${sources.join(", ")})`,
      );
      return { ask: `${tool} is given untrusted data: ${names.join(", ")}.` };
    }
    return tainted
      ? { ask: `${tool} is called after the model has read untrusted data.` }
      : "allow";
  };
}

/** Combines policies; the strictest decision counts: deny, then ask, then allow. */
export function allOf(...policies: readonly Policy[]): Policy {
  return async (call) => {
    let strictest: Decision = "allow";
    for (const policy of policies) {
      const decision = await policy(call);
      if (typeof decision === "object" && "deny" in decision) return decision;
      if (strictest === "allow") strictest = decision;
    }
    return strictest;
  };
}

/**
 * True if the pattern, in which `*` matches any characters, matches the whole name. Each part between two
 * stars matches at its first occurrence, without backtracking. Cost: linear in the name.
 */
export function fitsName(pattern: string, name: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of others) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

/** A code, and a message that the model may see. */
export interface Failed {
  readonly kind: "failed";
  readonly code: ErrorCode;
  readonly message: string;
}

/** How a variable differs from what it was edited from, for a person. */
export interface VariableDiff extends Partial<Diff> {
  readonly name: string;
  readonly version: number;
  /** The variable, or an earlier version of the same one. Absent if it is not known, or not kept any more. */
  readonly from?: { readonly name: string; readonly version: number };
  /**
   * Reason why there is no diff. `sealed`: a value is sealed or secret; `too_large`: more than 4 MiB; `gone`: the
   * original is not stored any more.
   */
  readonly withheld?: "sealed" | "too_large" | "gone";
}

/** A request for a person's approval. */
export interface ApprovalRequest {
  readonly reason: string;
  /** The resolved input as text, shortened. With a secret in the input: as the model wrote it. */
  readonly input: string;
  /** The first `MAX_SIZES` parameters of the same input, with their characters. Absent if it is no object. */
  readonly sizes?: readonly { readonly name: string; readonly chars: number }[];
  /** How variables in the input differ from what they were edited from; absent if none was edited. */
  readonly diffs?: readonly VariableDiff[];
  /**
   * Names of parameters that no form is to offer for a change as they are shown: sealed values, because the model reads
   * what a person changes, and values with a text that would be read as a reference.
   */
  readonly fixed?: readonly string[];
  /** Set if a person approves the call with another input than the model's. */
  readonly changed?: ChangedInput;
}

/** An input that runs in place of the model's. */
export interface ChangedInput {
  /** As the person wrote it, with references. */
  readonly input: Json;
  /** The same as `ApprovalRequest.input`: with values, as text, shortened. */
  readonly resolved: string;
}

export type Approval = { readonly kind: "allowed"; readonly approval?: ApprovalRequest } | Failed;

/** Applies the agent's policy to a call. */
export async function decisionFor(
  { policy, policies, taint }: TrustOptions,
  call: Omit<PolicyCall, "tainted">,
): Promise<Approval> {
  const { tool } = call;
  const { aliases, approval } = policies?.[tool] ?? {};
  const policyOf = approval === "untrusted" ? requireTrusted([tool]) : undefined;
  const decide = allOf(...[policy, policyOf].filter((one) => one !== undefined));
  const tainted = taint?.isTainted ?? false;
  let decision: Decision;
  try {
    decision = await decide({ ...call, ...compact({ aliases }), tainted });
    // Throws for anything else, such as nothing: a policy may be written in JavaScript.
    if (decision !== "allow" && !("deny" in decision || "ask" in decision)) throw new TypeError();
  } catch {
    // The error's message may contain a value that the policy received.
    decision = { deny: "the policy failed." };
  }
  if (typeof decision === "object" && "deny" in decision) {
    return failed(new ByrefError("tool_denied", `${tool} was not allowed: ${decision.deny}`));
  }
  if (decision === "allow" && approval !== true) return { kind: "allowed" };
  const reason = decision === "allow" ? undefined : decision.ask;
  return { kind: "allowed", approval: approvalRequest(call, reason) };
}

/** Creates a request for approval. People may see sealed values, but no secrets. */
export function approvalRequest(
  { tool, input, resolved, references }: Omit<PolicyCall, "tainted">,
  reason = `${tool} runs when a person approves it.`,
): ApprovalRequest {
  const hasSecret = references.some(({ visibility }) => visibility === "secret");
  const content = hasSecret ? input : resolved;
  const sizes = sizesOf(content);
  const fixed = fixedIn(content, input, references);
  return { reason, input: shownInput(content), ...compact({ sizes, fixed }) };
}

function fixedIn(
  content: Json,
  input: Json,
  references: readonly Consumed[],
): ApprovalRequest["fixed"] {
  if (!isJsonObject(content) || !isJsonObject(input)) return undefined;
  const isGuarded = references.some(({ visibility }) => visibility !== "model");
  const fixed = Object.entries(content).flatMap(([name, value]) => {
    const isRead = isGuarded || (typeof value === "string" && REFERENCE.test(value));
    return isRead && value !== input[name] ? [name] : [];
  });
  return fixed.length === 0 ? undefined : fixed;
}

/** What begins a reference, in any of the built-in syntaxes. */
const REFERENCE = /(?:[$†]\{?|\{\{[ \t]*|^variable:)[\p{L}_]/u;

/** Returns the literal start of an input: a summary would not show a person what would run. */
export function shownInput(content: Json): string {
  const shown = clip(
    JSON.stringify(startOf(content, { left: limits.maxExcerptChars })),
    limits.maxExcerptChars,
  );
  const more = jsonChars(content, Infinity) - shown.length;
  return visibleText(shown) + (more > 0 ? `… (+${more} characters)` : "");
}

/** Tells a model what ran in place of its input. */
export function ranInstead(input: Json): string {
  const ran = clip(JSON.stringify(input), limits.maxExcerptChars);
  return `A person changed the input. In place of yours, this ran: ${ran}`;
}

/** Parameters whose sizes a person is shown. */
const MAX_SIZES = 50;

function sizesOf(content: Json): ApprovalRequest["sizes"] {
  if (!isJsonObject(content)) return undefined;
  return Object.entries(content)
    .slice(0, MAX_SIZES)
    .map(([name, value]) => ({
      name: clip(name, limits.maxShownResultChars),
      chars: charsOf(value, Infinity),
    }));
}

/** Returns the start of the value: as JSON, more than `room.left` characters, or all of it. */
function startOf(value: Json, room: { left: number }): Json {
  if (isScalar(value)) {
    const short = typeof value === "string" ? clip(value, limits.maxExcerptChars) : value;
    room.left -= charsOf(short, Infinity);
    return short;
  }
  // The value of a reference to bytes (`store-lookup.ts`).
  if ((value as unknown) instanceof Uint8Array) return "[bytes]";
  const isList = isJsonArray(value);
  const entries: [string, Json][] = [];
  for (const key of isList ? value.keys() : Object.keys(value)) {
    if (room.left < 0) break;
    // A comma, which follows each but the last, and the key with quotes and a colon.
    room.left -= isList ? 1 : String(key).length + 4;
    entries.push([String(key), startOf((value as JsonObject)[key] ?? null, room)]);
  }
  return isList ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/**
 * Makes the failure of a call that the model sees. An error that follows from guarded values is reduced to its
 * code. An error that follows from untrusted values is untrusted, too: it is withheld, or taints the turn.
 */
export function failedCall(
  error: unknown,
  { name, options, labels }: { name: string; options: TrustOptions; labels: Labels },
): Failed {
  const policy = options.policies?.[name];
  if (labels.isGuarded) return failed(error, withheld(name, "its input is sealed"));
  const isSealed = labels.ofResult(name, policy).visibility !== "model";
  if (isSealed) return failed(error, withheld(name, "its result is sealed"));
  if (!labels.hasUntrusted && policy?.trusted !== false) return failed(error);
  if (options.untrusted === "hide") {
    return failed(error, withheld(name, "untrusted data is involved"));
  }
  options.taint?.add();
  return failed(error);
}

/**
 * Makes the failure of a call whose references could not be resolved. A message about a name repeats what the
 * model wrote, and similar names; it has no more of guarded and hidden values (`store-lookup.ts`).
 */
export function unresolvedCall(error: unknown, about: Parameters<typeof failedCall>[1]): Failed {
  const { isGuarded, hasUntrusted } = about.labels;
  const isSaid = ABOUT_NAMES.has(codeOf(error));
  if ((isGuarded || hasUntrusted) && !isSaid) return failedCall(error, about);
  if (hasUntrusted && about.options.untrusted !== "hide") about.options.taint?.add();
  return failed(error);
}

const ABOUT_NAMES: ReadonlySet<ErrorCode> = new Set([
  "path_not_found",
  "variable_evicted",
  "variable_sealed",
  "variable_secret",
  "variable_not_found",
]);

function withheld(name: string, why: string): string {
  return `${name} failed; details are withheld, because ${why}.`;
}

/** Converts an error to a failure. Errors without a Byref code are attributed to the tool. */
export function failed(error: unknown, message: string = messageOf(error)): Failed {
  const code = codeOf(error);
  return { kind: "failed", code: code === "internal" ? "tool_failed" : code, message };
}

const MAX_NAMED_TOOLS = 20;

/** The message for a call of a tool that the model does not have. */
export function noSuchTool(toolName: string, known: readonly string[]): string {
  const near = nearest(toolName, known);
  const named = near.length > 0 ? near : known.slice(0, MAX_NAMED_TOOLS);
  const hint = near.length > 0 ? "Did you mean" : "There are";
  const advice = named.length === 0 ? "There are no tools." : `${hint}: ${named.join(", ")}.`;
  return `There is no tool ${clip(toolName, limits.maxNameChars)}. ${advice}`;
}

// Questions to people whether a call may run.

/** Where a host keeps its open questions: in memory (a `Map` is one), with its messages, or in a database. */
export interface Questions<Asked> {
  get(id: string): Asked | undefined;
  set(id: string, asked: Asked): unknown;
  /** False if there is none, for example because another process has just deleted it. */
  delete(id: string): boolean;
}

/**
 * The open questions to people whether a call may run, by the id of an approval or of a call. `Asked` is the pin of the
 * input that would run (`Ready.pin`), or contains it: before the call runs, its input is resolved again and compared.
 * A question is taken once, and who takes it decides. What clients send back only names a question, and proves nothing.
 */
export class ApprovalLedger<Asked> {
  readonly #questions: Questions<Asked>;

  constructor(questions: Questions<Asked> = new Map()) {
    this.#questions = questions;
  }

  /** Asks in place of an earlier question of this id. */
  ask(id: string, asked: Asked): void {
    this.#questions.set(id, asked);
  }

  /** Returns what is asked, to show it. */
  about(id: string): Asked | undefined {
    return this.#questions.get(id);
  }

  /** Closes the question and returns what was asked. Undefined if it is not open, or not about `pin`, if that is set. */
  take(id: string, pin?: Asked): Asked | undefined {
    const asked = this.#questions.get(id);
    const isMeant = pin === undefined || asked === pin;
    return isMeant && this.#questions.delete(id) ? asked : undefined;
  }
}
