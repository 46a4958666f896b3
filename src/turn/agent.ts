import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import type { McpServer } from "../tool/tool-rules.ts";
import type { ExpandOptions } from "../reference/expand.ts";
import type { ResolveOptions } from "../reference/resolve.ts";
import type { SyntaxName, Syntaxes } from "../reference/syntaxes.ts";
import type { Identity } from "../tool/identity.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import type { Effects, WrapOptions } from "../tool/wrapped-tool.ts";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { compact } from "../value/json.ts";
import type { HistoryRecord } from "./history/history-record.ts";
import { type Guide, guideFor, type InstructionStyle } from "./history/guide.ts";
import type { Plan } from "./plan.ts";

/**
 * What the functions of an agent, and its tools as `context`, learn about a question. It is the asker's, also
 * in a call that another person approves days later.
 */
export interface AgentContext<Env = object> extends Identity {
  readonly conversation: string;
  /** The turn or the run of a plan. Absent where there is none, such as in a call of an MCP client. */
  readonly turn?: string;
  readonly env: Env;
}

/**
 * An agent: instructions and tools. The runtime supplies the model and the variables. What may be a function is
 * called anew for each turn, with who asks; if it throws, the turn fails.
 */
export interface AgentDefinition<Env = object> extends Omit<
  Agent,
  "instructions" | "tools" | "policies" | "mcpServers" | "context"
> {
  readonly instructions: ForContext<Agent["instructions"], Env>;
  readonly tools: ForContext<Agent["tools"], Env>;
  readonly policies?: ForContext<NonNullable<Agent["policies"]>, Env>;
  readonly mcpServers?: ForContext<NonNullable<Agent["mcpServers"]>, Env>;
}

type ForContext<Value, Env> = Value | ((context: AgentContext<Env>) => Value | Promise<Value>);

/** An agent's definition, resolved for one question. */
export interface Agent extends Pick<
  WrapOptions,
  "naming" | "policies" | "policy" | "readonlyTools" | "untrusted"
> {
  /** The name used in `agent` of a request and in `delegate`. */
  readonly name: string;
  /** Shown by `GET /agents`, and to agents that may delegate to this one. */
  readonly description: string;
  /** Instructions at the start of the prompt. The runtime adds a sentence on references. */
  readonly instructions: string;
  /** Tools in the AI SDK's form. They receive values, never references. */
  readonly tools: ToolSet;
  /** Effects by tool: what running it again after a crash would do. Default: `once`. */
  readonly effects?: Readonly<Record<string, Effects>>;
  /**
   * How this agent's model writes references, and where they are resolved. Default: dollar syntax, as
   * specified. The prompt explains the first of `dollar`, `mustache` and `dagger` that is on.
   */
  readonly references?: ReferenceOptions;
  /** The model's context window in tokens, for `savings` and `inlineChars`. Default: `contextTokens`. */
  readonly contextTokens?: number;
  /**
   * Results of more characters are shown as a handle. Default: 1,000, and more in proportion for a context window of
   * over 200,000 tokens. At most `maxBlockChars`.
   */
  readonly inlineChars?: number;
  /** How much the prompt explains references. Default: `auto`. */
  readonly instructionStyle?: InstructionStyle;
  /** MCP servers of this agent alone, beside those in `MCP_SERVERS`. Needs `mcp: mcpTools`. Default: none. */
  readonly mcpServers?: readonly McpServer[];
  /** Passed to its tools, and never to a model. Undefined outside of the runtime's conversations. */
  readonly context?: AgentContext | undefined;
  /**
   * How the model calls tools: natively (default), or with `<capability name="…" />` tags in its text
   * (`capabilityTags`), for models without tool calls. Users do not see the tags; results come back as a
   * message. By default, such an agent may also write `{{name}}` in calls and answers, and `output_var` says
   * where results are saved. `references` and `outputPath` override this.
   */
  readonly toolCalls?: "native" | CapabilityTags;
  /**
   * The place of a result. True: the model may choose it; by tool, a string: that place. Default: neither, or
   * true with `toolCalls: capabilityTags`.
   */
  readonly outputPath?: boolean | Readonly<Record<string, string | boolean>>;
  /**
   * The runtime's own tools, such as `read_variable`, that the model receives once there is something they
   * work on. Default: all.
   */
  readonly variableTools?: boolean | readonly string[];
  /**
   * Tools on demand: the model is shown names and `find_tools`, and a definition once it has found it. Default: above
   * 30 tools, or definitions of over a tenth of the context window. False: all are always sent.
   */
  readonly toolSearch?: false | ToolSearch;
  /**
   * The values of who asks, which are the same in each of their conversations: `$user.address`. `write`: also
   * `set_variable` with `scope: "user"`. Default: neither, and `$user` is a name like any other.
   */
  readonly userScope?: "read" | "write";
  /**
   * True: its model may run the programs that the tenant has given to this agent, with the tool `run_program`. Needs
   * `planSupport()` and `DIRECTORY`. Default: it may run none.
   */
  readonly programs?: boolean;
  /**
   * Names of the agents that this one may call with the tool `delegate`. They share the conversation's
   * variables and nothing else. Default: none, and no such tool.
   */
  readonly delegates?: readonly string[];
  /**
   * Returns true for plans that may run without a person's approval. Default: none. An exception counts as
   * false.
   */
  readonly approvesPlan?: (plan: Plan) => boolean | Promise<boolean>;
  /**
   * Handling of a message that arrives while a turn runs: it waits (default), is refused with `conflict`,
   * or stops that turn.
   */
  readonly whenBusy?: "wait" | "reject" | "interrupt";
  /** A person's text of more characters becomes a variable. Default: `messageChars`. */
  readonly messageChars?: number;
  /**
   * Characters of earlier messages in a prompt, as JSON. Above it, the oldest turns are replaced by an outline,
   * and their messages are in the variable `$history`. Default: `historyChars`.
   */
  readonly historyChars?: number;
  /**
   * Returns a summary of turns, each with its messages, which replaces their lines in the outline if it is not
   * longer; it is cut there. Called after a turn, not awaited by any, and within `modelSilenceMs`. What it spends
   * is not counted. If it fails, the lines stay. Default: the lines stay.
   */
  readonly summarize?: (
    turns: readonly (readonly HistoryRecord[])[],
    options: { readonly signal: AbortSignal },
  ) => Promise<string>;
}

/** Tool calls as tags in a model's text. */
export interface CapabilityTags {
  /** Wraps the model so that it looks like one with native calls. */
  model(model: LanguageModelV4, options: CapabilityOptions): LanguageModelV4;
  /** The capability `variable`, which only agents that call tools with tags receive. */
  readonly tools: readonly RuntimeTool[];
  /** The default reference syntaxes of such an agent. */
  readonly syntaxes: readonly SyntaxName[];
}

export interface CapabilityOptions {
  /**
   * The unwrapped tools. Their schemas do not accept references, and define the type of a parameter written as
   * text.
   */
  readonly tools: ToolSet;
  readonly newId: () => string;
  /** The reference syntaxes that the model may use, for the guide. Default: none. */
  readonly syntaxes?: Syntaxes;
}

/** When the definitions of an agent's tools are sent only once the model has found them. */
interface ToolSearch {
  /** More tools are found on demand. Default: 30. */
  readonly tools?: number;
  /** So are tools whose definitions take a larger share of the context window. Default: 0.1. */
  readonly share?: number;
}

/** In tool inputs, and in answers. */
interface ReferenceOptions
  extends Pick<ResolveOptions, "syntaxes" | "unknown">, Pick<ExpandOptions, "inCode" | "inUrls"> {}

/** Calls the definition's functions. Rejects with their error. */
export async function resolveAgent<Env extends object>(
  definition: AgentDefinition<Env>,
  context: AgentContext<Env>,
): Promise<Agent> {
  const { instructions, tools, policies, mcpServers } = definition;
  const given = Object.entries(compact({ instructions, tools, policies, mcpServers }));
  const values = given.map(async ([name, value]): Promise<[string, unknown]> => {
    return [name, typeof value === "function" ? await value(context) : value];
  });
  // Each function returns a value of its type.
  return { ...definition, context, ...Object.fromEntries(await Promise.all(values)) } as Agent;
}

/** True if the model receives this one of the runtime's own tools. */
export function isOffered(name: string, { variableTools = true }: Agent): boolean {
  return typeof variableTools === "boolean" ? variableTools : variableTools.includes(name);
}

export function wrapOptionsFor(agent: Agent): Omit<WrapOptions, "store"> {
  const { naming, readonlyTools, policies, policy, untrusted, context } = agent;
  const { syntaxes, unknown } = referencesOf(agent);
  // A tag contains the place of its result.
  const { outputPath = tagsOf(agent) === undefined ? undefined : true } = agent;
  const saving = { naming, outputPath, readonlyTools, inlineChars: inlineCharsOf(agent) };
  return compact({ ...saving, policies, policy, untrusted, context, syntaxes, unknown });
}

/** A model with a larger window may see more of a result. Throws `bad_configuration`. */
function inlineCharsOf({ inlineChars, contextTokens = limits.contextTokens }: Agent): number {
  const share = Math.max(contextTokens / limits.contextTokens, 1);
  const chars = inlineChars ?? Math.floor(limits.maxShownResultChars * share);
  if (!Number.isInteger(chars) || chars < 0)
    throw new ByrefError("bad_configuration", "inlineChars of an agent is a whole number.");
  return Math.min(chars, limits.maxBlockChars);
}

/** The tags with which the agent calls tools. Undefined for native calls. */
export function tagsOf({ toolCalls = "native" }: Agent): CapabilityTags | undefined {
  return toolCalls === "native" ? undefined : toolCalls;
}

/** How the agent's model writes references. With tags, their syntaxes are the default. */
export function referencesOf(agent: Agent): ReferenceOptions {
  return { ...compact({ syntaxes: tagsOf(agent)?.syntaxes }), ...agent.references };
}

export function guideOf(agent: Agent): Guide {
  return guideFor(agent.instructionStyle, referencesOf(agent).syntaxes);
}
