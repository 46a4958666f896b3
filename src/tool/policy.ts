import { compact, isJsonArray, isScalar, type Json, type JsonObject } from "../value/json.ts";
import { ByrefError, codeOf, type ErrorCode, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import {
  type Consumed,
  flagged,
  type Labels,
  type ResultPolicy,
  type Taint,
} from "../store/labels.ts";
import type { Write } from "../store/variable-store.ts";
import type { Flag } from "../store/variable.ts";
import { clip } from "../value/characters.ts";
import { charsOf } from "../value/json-text.ts";

/** What may run, and what the model and people are shown of it. */
export interface TrustOptions {
  /** By tool: which secrets it is given, and what its results are. */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  /** Decides of each call before it runs. Default: all may run. */
  readonly policy?: Policy;
  /** What is not trusted: shown and marked as such (default), or hidden until the model asks to read it. */
  readonly untrusted?: "show" | "hide";
  /** What the model has been shown so far; changed when it is shown more. */
  readonly taint?: Taint;
}

/** What an agent says about one of its tools, for the values that go in and come out. */
export interface ToolPolicy extends ResultPolicy {
  /** Secret variables that the tool may be given, by name. Default: none. */
  readonly secrets?: readonly string[];
  /** A person has to approve each call. Default: false. */
  readonly approval?: boolean;
  /** Other names under which a policy may know it, e.g. `delete_all` and `mail/delete_all`. */
  readonly aliases?: readonly string[];
}

/** A call that is about to run. */
export interface PolicyCall {
  readonly tool: string;
  /** Other names of the same tool: of an MCP server's, its own and `server/name`. */
  readonly aliases?: readonly string[];
  /** As the model wrote it, references kept. */
  readonly input: Json;
  /** With the values in place of the references: guarded ones too. */
  readonly resolved: Json;
  /** The variables that it refers to, each once. */
  readonly references: readonly Consumed[];
  /** The model has been shown what somebody wrote who is not trusted: its own words count as theirs. */
  readonly tainted: boolean;
}

/** What becomes of a call. */
export type Decision =
  | "allow"
  /** The model is told the reason. */
  | { readonly deny: string }
  /** A person is told the reason, and approves the call or does not. */
  | { readonly ask: string };

/** Decides of each call before it runs. If it throws, the call is denied. */
export type Policy = (call: PolicyCall) => Decision | Promise<Decision>;

/**
 * These tools run without a person's approval only on trusted arguments, in a turn in which the model
 * has been shown nothing that is not trusted. `*` stands for any characters.
 */
export function requireTrusted(tools: readonly string[]): Policy {
  return ({ tool, aliases = [], references, tainted }) => {
    const isMeant = [tool, ...aliases].some((name) => tools.some((one) => fitsName(one, name)));
    if (!isMeant) return "allow";
    const doubted = references.filter(({ trusted }) => !trusted);
    if (doubted.length > 0) {
      const names = doubted.map(({ name, sources }) => `$${name} (${sources.join(", ")})`);
      return { ask: `${tool} is given what is not trusted: ${names.join(", ")}.` };
    }
    return tainted
      ? { ask: `${tool} is called after the model has read what is not trusted.` }
      : "allow";
  };
}

/** The strictest of several policies: a denial, else a question, else leave. */
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
 * True if the pattern, in which `*` stands for any characters, fits the whole name. Each part between two
 * stars is taken where it occurs first, without backtracking. Cost: linear in the name.
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

/** A code and a message that the model may be shown. */
export interface Failed {
  readonly kind: "failed";
  readonly code: ErrorCode;
  readonly message: string;
}

/** What a person is asked. */
export interface ApprovalRequest {
  readonly reason: string;
  /** The resolved input as text, shortened; as the model wrote it if a secret went in. */
  readonly input: string;
}

export type Approval = { readonly kind: "allowed"; readonly approval?: ApprovalRequest } | Failed;

/** What the agent's policy says of a call. */
export async function decisionFor(
  { policy, policies, taint }: TrustOptions,
  call: Omit<PolicyCall, "tainted">,
): Promise<Approval> {
  const { tool } = call;
  const { aliases } = policies?.[tool] ?? {};
  const decision = await decided(policy, {
    ...call,
    ...compact({ aliases }),
    tainted: taint?.isTainted ?? false,
  });
  if (typeof decision === "object" && "deny" in decision) {
    return failed(new ByrefError("tool_denied", `${tool} was not allowed: ${decision.deny}`));
  }
  if (decision !== "allow")
    return { kind: "allowed", approval: approvalRequest(call, decision.ask) };
  const isAsked = policies?.[tool]?.approval === true;
  return isAsked ? { kind: "allowed", approval: approvalRequest(call) } : { kind: "allowed" };
}

/** What a person is asked. Sealed values are for people to see, secrets are not. */
export function approvalRequest(
  { tool, input, resolved, references }: Omit<PolicyCall, "tainted">,
  reason = `${tool} runs when a person approves it.`,
): ApprovalRequest {
  const hasSecret = references.some(({ visibility }) => visibility === "secret");
  const given = hasSecret ? input : resolved;
  // The start of it as it is: what stands in for values tells nobody what would run.
  const shown = clip(
    JSON.stringify(startOf(given, { left: limits.maxApprovalChars })),
    limits.maxApprovalChars,
  );
  const more = charsOf(given, Infinity) - shown.length;
  return { reason, input: more > 0 ? `${shown}… (+${more} characters)` : shown };
}

/** The start of the value: somewhat more than `room.left` characters. */
function startOf(value: Json, room: { left: number }): Json {
  if (isScalar(value)) {
    const short = typeof value === "string" ? clip(value, limits.maxApprovalChars) : value;
    room.left -= String(short).length;
    return short;
  }
  // A reference to bytes has put them there (`store-lookup.ts`).
  if ((value as unknown) instanceof Uint8Array) return "[bytes]";
  const entries: [string, Json][] = [];
  for (const key of isJsonArray(value) ? value.keys() : Object.keys(value)) {
    if (room.left < 0) break;
    room.left -= String(key).length;
    entries.push([String(key), startOf((value as JsonObject)[key] ?? null, room)]);
  }
  return isJsonArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

async function decided(policy: TrustOptions["policy"], call: PolicyCall): Promise<Decision> {
  if (policy === undefined) return "allow";
  try {
    return await policy(call);
  } catch {
    // What it says may hold a value that it was given.
    return { deny: "the policy failed." };
  }
}

/**
 * A failed call as the model is told of it. What a tool says of a guarded value is guarded too; what it
 * says of one that is not trusted is no more to be trusted: it is withheld, or taints the turn.
 */
export function failedCall(
  error: unknown,
  { name, options, labels }: { name: string; options: TrustOptions; labels: Labels },
): Failed {
  const policy = options.policies?.[name];
  const { visibility } = labels.ofResult(name, policy);
  if (labels.isGuarded || visibility !== "model") {
    return failed(error, withheld(name, "it has to do with a guarded value"));
  }
  if (!labels.hasUntrusted && policy?.trusted !== false) return failed(error);
  if (options.untrusted === "hide") {
    return failed(error, withheld(name, "it has to do with what is not trusted"));
  }
  options.taint?.add();
  return failed(error);
}

/**
 * A call whose references could not be resolved. Its message tells a place and near names, and of guarded
 * and hidden values no more than that (`store-lookup.ts`); but how large one is it tells as well.
 */
export function unresolvedCall(error: unknown, about: Parameters<typeof failedCall>[1]): Failed {
  const { labels, options } = about;
  if (labels.isGuarded && codeOf(error) === "limit_exceeded") return failedCall(error, about);
  if (labels.hasUntrusted && options.untrusted !== "hide") options.taint?.add();
  return failed(error);
}

function withheld(name: string, why: string): string {
  return `${name} failed; what it said is withheld, because ${why}.`;
}

/** A failure as data; what is no error of ours is the tool's. */
export function failed(error: unknown, message: string = shortened(messageOf(error))): Failed {
  const code = codeOf(error);
  return { kind: "failed", code: code === "internal" ? "tool_failed" : code, message };
}

/** An error may carry all that a server answered; what the model is shown of it is bounded. */
function shortened(message: string): string {
  const shown = clip(message, limits.maxShownResultChars);
  return shown === message ? message : `${shown}… (+${message.length - shown.length} more)`;
}

/**
 * True if the model must not learn whether a call failed before its tool ran: sealed values went in, so
 * that each failure would tell something of them. The result is then a variable either way. A step of a plan
 * fails openly, because the steps after it must not run; so does a call with secrets alone, because a wrong
 * argument beside a key has to be corrected.
 */
export function hidesFailure(
  labels: Labels,
  { isPlanned }: { readonly isPlanned?: true },
): boolean {
  return isPlanned !== true && labels.consumed.some(({ visibility }) => visibility === "sealed");
}

/** What the variable holds in place of a result: for people, not for the model or for tools. */
export function failureReport(error: unknown): Json {
  return { error: codeOf(error), message: messageOf(error) };
}

/** The same flags, with the mark of a failure. */
export function failureFlags(flags: readonly Flag[] = []): { readonly flags?: readonly Flag[] } {
  return flagged([...flags, "failed"]);
}

/** The write with the report of its failure in place of its value: of the variable as a whole. */
export function failedWrite<Given extends Write>(write: Given, error: unknown) {
  const value = failureReport(error);
  const whole = { path: [], mode: "replace" as const };
  return { ...write, ...whole, value, ...failureFlags(write.flags) };
}

/** True if the write reports a failure already: then there is no other report to make. */
export function isFailure({ flags }: Pick<Write, "flags">): boolean {
  return flags?.includes("failed") === true;
}
