import type { ValueLabels } from "../store/value-labels.ts";
import type { Json } from "../value/json.ts";
import { fitsName } from "./name-pattern.ts";

/** A variable that went into a call, as it was then. */
export interface Consumed extends ValueLabels {
  readonly name: string;
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
