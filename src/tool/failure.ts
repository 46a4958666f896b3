import { codeOf, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import type { Labels } from "./labels.ts";
import type { WrapOptions } from "./prepared-call.ts";
import type { Failed } from "./wrapped-tool.ts";

/**
 * A failed call as the model is told of it. What a tool says of a guarded value is guarded too; what it
 * says of one that is not trusted is no more to be trusted: it is withheld, or taints the turn.
 */
export function failedCall(
  error: unknown,
  { name, options, labels }: { name: string; options: WrapOptions; labels: Labels },
): Failed {
  const policy = options.policies?.[name];
  const { visibility } = labels.ofResult(name, policy);
  if (labels.isGuarded || visibility !== "model") {
    return failed(error, withheld(name, "it has to do with a guarded value"));
  }
  if (!labels.hasDoubted && policy?.trusted !== false) return failed(error);
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
  if (labels.hasDoubted && options.untrusted !== "hide") options.taint?.add();
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
