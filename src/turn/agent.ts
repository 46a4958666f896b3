import type { ToolSet } from "ai";
import type { Syntax } from "../reference/reference.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { CapabilityTags } from "../plan/capability/capability-model.ts";
import type { Plan } from "../plan/plan.ts";
import type { Policy, ToolPolicy } from "../tool/policy.ts";
import type { Effects, Naming, WrapOptions } from "../tool/wrapped-tool.ts";
import { compact } from "../value/json.ts";

/** Who answers: instructions and tools, with the model and the variables supplied by the runtime. */
export interface Agent {
  /** What `agent` in a request, and `delegate`, call it. */
  readonly name: string;
  /** For `GET /agents`, and for agents that may ask this one. */
  readonly description: string;
  /** In front of the prompt; the guide to references is added. */
  readonly instructions: string;
  /** As the AI SDK has them; they are given values, never references. */
  readonly tools: ToolSet;
  /** By tool: what running it again after a crash would do. `once` for those that are not named. */
  readonly effects?: Readonly<Record<string, Effects>>;
  /** How this agent's model writes references, and where they count. Default: dollar, by the law. */
  readonly references?: {
    readonly syntaxes?: readonly (SyntaxName | Syntax)[];
    /** An unknown name in a tool input: text that stays and is noted (default), or an error. */
    readonly unknown?: "keep" | "error";
    /** In answers, resolve inside code too. */
    readonly inCode?: boolean;
    /** In answers, resolve inside URLs too: a model can then be made to leak data. */
    readonly inUrls?: boolean;
  };
  /** By tool: which secrets it is given, and what its results are. Default: none, shown and trusted. */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  /** Decides of each call before it runs. Default: all may. */
  readonly policy?: Policy;
  /** What is not trusted: shown and marked as such (default), or hidden until the model asks to read it. */
  readonly untrusted?: "show" | "hide";
  /**
   * How the model calls tools: natively (default), or with `<capability name="…" />` tags in its text
   * (`capabilityTags`), for models without tool calls. The tags are not shown to the user, and results come
   * back as a message. The calls of such an agent may hold `{{name}}`, and say with `output_var` where results
   * are saved, unless `references` and `outputPath` say otherwise.
   */
  readonly toolCalls?: "native" | CapabilityTags;
  /** The model may say where a result is saved (true), or the caller does, by tool. Default: neither. */
  readonly outputPath?: boolean | Readonly<Record<string, string | boolean>>;
  /**
   * The runtime's own tools that the model is given when there are variables: `read_variable` and its
   * like. Default: all.
   */
  readonly variableTools?: boolean | readonly string[];
  /**
   * Agents that this one may ask, by name, with the tool `delegate`: they share the conversation's
   * variables, and nothing else. Default: none, and there is no such tool.
   */
  readonly delegates?: readonly string[];
  /** True for plans that may run without a person's approval. Default: none may. If it throws, none may. */
  readonly approvesPlan?: (plan: Plan) => boolean | Promise<boolean>;
  /** Tools that promise not to change their input: they get the stored value without a copy. */
  readonly readonlyTools?: readonly string[];
  /**
   * What becomes of a message that comes while a turn runs: it waits (default), is refused with
   * `turn_running`, or stops that turn.
   */
  readonly whenBusy?: "wait" | "reject" | "interrupt";
  /** Names the variables that results are saved as. Default: tool and most telling argument. */
  readonly naming?: Naming;
}

/** Is the model given this one of the runtime's own tools? */
export function isOffered(name: string, { variableTools = true }: Agent): boolean {
  return typeof variableTools === "boolean" ? variableTools : variableTools.includes(name);
}

/** How an agent has its tools wrapped. */
export function wrapOptionsFor(agent: Agent): Omit<WrapOptions, "store"> {
  const { naming, readonlyTools, policies, policy, untrusted } = agent;
  const { outputPath, references: { syntaxes, unknown } = {} } = taggedAgent(agent);
  const saving = { naming, outputPath, readonlyTools };
  return compact({ ...saving, policies, policy, untrusted, syntaxes, unknown });
}

/** How the agent calls tools if not natively. */
export function tagsOf({ toolCalls = "native" }: Agent): CapabilityTags | undefined {
  return toolCalls === "native" ? undefined : toolCalls;
}

/** Defaults of an agent that calls tools with tags: a tag says where results are saved. */
function taggedAgent(agent: Agent): Agent {
  const tags = tagsOf(agent);
  if (tags === undefined) return agent;
  const { outputPath = true, references } = agent;
  return { ...agent, outputPath, references: { syntaxes: tags.syntaxes, ...references } };
}
