import {
  type GenerateTextResult,
  type ModelMessage,
  NoSuchToolError,
  type OutputInterface as Output,
  type StreamTextResult,
  type ToolCallRepairFunction,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import {
  closeDenied,
  decides,
  evictDue,
  taintsByStore,
  type WithVariables,
  wrapDecidedTools,
  wrapToolApproval,
  wrapTools,
} from "./wrap-tools.ts";
import {
  asWritten,
  expandedResult,
  expandedStreamResult,
  expandOutput,
  type Showing,
  withShownEvents,
} from "./expand-answer.ts";
import { listingVariables, withGuide } from "./step-prompt.ts";
import { type guides, policies, type wraps } from "../../../../src/internal-tool.ts";
import { MemoryStore, type VariableStore, json } from "../../../../src/internal.ts";

/** Finds the store of a call's conversation by the call's own `options`. */
export type StoreForCall<CallOptions> = (call: { readonly options?: CallOptions }) => VariableStore;

type Context = Record<string, unknown>;

/** Options of an agent that works by reference, in addition to `WrapOptions`. */
export interface ToolVariablesOptions<CallOptions = never> extends Omit<
  wraps.WrapOptions,
  "store"
> {
  /**
   * How much the prompt explains references. Default: `auto`. It explains the first of `dollar`, `mustache`
   * and `dagger` that is on. Without any of them the agent's own instructions have to explain the syntax.
   */
  readonly instructionStyle?: guides.InstructionStyle;
  /**
   * The store of one conversation, or a function that finds the store of a call. Default: one `MemoryStore`
   * for the wrapped agent. All callers of an agent with one store share its variables: a server must wrap an
   * agent for each conversation, or pass a function.
   */
  readonly store?: VariableStore | StoreForCall<CallOptions>;
}

/**
 * Returns an agent that works by reference. Tool results are saved as variables, references in tool inputs are
 * resolved, and text is expanded for the caller. The SDK records references, not values, for the next step
 * (`responseMessages`, `steps`). Each step receives a list of the current variables. The given agent is not changed.
 */
export function withToolVariables<
  CallOptions = never,
  Tools extends ToolSet = Record<never, never>,
  Own extends Context = Context,
  Answer extends Output = never,
>(
  agent: ToolLoopAgent<CallOptions, Tools, Own, Answer>,
  options: ToolVariablesOptions<CallOptions> = {},
): ToolLoopAgent<CallOptions, WithVariables<Tools>, Own, Answer> {
  return new VariableAgent<CallOptions, Tools, Own, Answer>(settingsOf(agent), options);
}

/** Reads the agent's settings, which only TypeScript makes private. The version of `ai` is pinned. */
function settingsOf<CallOptions, Tools extends ToolSet, Own extends Context, Answer extends Output>(
  agent: ToolLoopAgent<CallOptions, Tools, Own, Answer>,
): ToolLoopAgentSettings<CallOptions, Tools, Own, Answer> {
  const { settings } = agent as unknown as {
    settings?: ToolLoopAgentSettings<CallOptions, Tools, Own, Answer>;
  };
  if (settings === undefined) throw new TypeError("withToolVariables takes a ToolLoopAgent.");
  return settings;
}

class VariableAgent<
  CallOptions,
  Tools extends ToolSet,
  Own extends Context,
  Answer extends Output,
> extends ToolLoopAgent<CallOptions, WithVariables<Tools>, Own, Answer> {
  readonly #settings: ToolLoopAgentSettings<CallOptions, Tools, Own, Answer>;
  readonly #options: ToolVariablesOptions<CallOptions>;
  readonly #ownStore = new MemoryStore();
  readonly #taintOf = taintsByStore();
  readonly #tools: WithVariables<Tools>;

  constructor(
    settings: ToolLoopAgentSettings<CallOptions, Tools, Own, Answer>,
    options: ToolVariablesOptions<CallOptions>,
  ) {
    // The base class only needs these settings for its own properties: each call creates its own agent.
    super(settings as unknown as Settings<CallOptions, Tools, Own, Answer>);
    this.#settings = settings;
    this.#options = options;
    const store = typeof options.store === "object" ? options.store : this.#ownStore;
    // An agent without tools has an empty tool set.
    this.#tools = wrapTools(settings.tools ?? ({} as Tools), { ...options, store });
  }

  /** The wrapped tools. With a store for each call they only provide schemas. */
  override get tools(): WithVariables<Tools> {
    return this.#tools;
  }

  override async generate(
    call: Parameters<Base<CallOptions, Tools, Own, Answer>["generate"]>[0],
  ): Promise<GenerateTextResult<WithVariables<Tools>, Own, Answer>> {
    const showing = this.#showing();
    const result = await this.#agentFor(showing).generate(withShownEvents(call, showing));
    return expandedResult(result, showing);
  }

  override async stream(
    call: Parameters<Base<CallOptions, Tools, Own, Answer>["stream"]>[0],
  ): Promise<StreamTextResult<WithVariables<Tools>, Own, Answer>> {
    const showing = this.#showing();
    const result = await this.#agentFor(showing).stream(withShownEvents(call, showing));
    return expandedStreamResult(result, showing);
  }

  /** The store of a call is known when the SDK prepares it. */
  #showing(): Showing {
    const { syntaxes } = this.#options;
    return { store: this.#ownStore, expanding: json.compact({ syntaxes }) };
  }

  #agentFor(showing: Showing): Base<CallOptions, Tools, Own, Answer> {
    const { prepareCall } = this.#settings;
    const { store = this.#ownStore } = this.#options;
    // The SDK calls it with the types of the agent's own settings; only the fields of `Prepared` are read.
    const prepare = async (given: Prepared & { readonly options?: CallOptions }) => {
      const { options } = given;
      showing.store = typeof store === "function" ? store(json.compact({ options })) : store;
      await evictDue(showing.store);
      const prepared = prepareCall === undefined ? given : await prepareCall(given as never);
      return this.#prepared(prepared as Prepared, showing);
    };
    const settings = { ...withShownEvents(this.#settings, showing), prepareCall: prepare };
    return new ToolLoopAgent(settings as unknown as Settings<CallOptions, Tools, Own, Answer>);
  }

  #prepared(prepared: Prepared, showing: Showing): Prepared {
    const { store, expanding } = showing;
    const { instructionStyle = "auto", store: _store, ...rest } = this.#options;
    const taint = rest.taint ?? this.#taintOf(store);
    const options = { ...rest, store, taint };
    const guided = withGuide(prepared.instructions, instructionStyle, rest.syntaxes);
    const { tools = {}, prepareStep, toolApproval, messages, prompt } = prepared;
    const { experimental_repairToolCall, repairToolCall = experimental_repairToolCall } = prepared;
    const output = prepared.output && expandOutput(prepared.output, store, expanding);
    showing.output = output;
    closeDenied(store, messages ?? (Array.isArray(prompt) ? prompt : []));
    return {
      ...prepared,
      ...json.compact({ output }),
      tools: wrapDecidedTools(tools, options, (name) => decides(toolApproval, name)),
      toolApproval: wrapToolApproval(toolApproval, tools, options),
      repairToolCall: withUnknownTools(repairToolCall),
      ...(messages === undefined ? {} : { messages: asWritten(messages) }),
      ...(Array.isArray(prompt) ? { prompt: asWritten(prompt) } : {}),
      ...json.compact({ instructions: guided }),
      prepareStep: listingVariables({ ...options, prepareStep, instructionStyle }),
    };
  }
}

type Base<
  CallOptions,
  Tools extends ToolSet,
  Own extends Context,
  Answer extends Output,
> = ToolLoopAgent<CallOptions, WithVariables<Tools>, Own, Answer>;

type Settings<
  CallOptions,
  Tools extends ToolSet,
  Own extends Context,
  Answer extends Output,
> = ToolLoopAgentSettings<CallOptions, WithVariables<Tools>, Own, Answer>;

/** The fields of a prepared call that are read or changed here. */
type Prepared = Pick<
  ToolLoopAgentSettings<never, ToolSet>,
  | "tools"
  | "instructions"
  | "prepareStep"
  | "toolApproval"
  | "repairToolCall"
  | "experimental_repairToolCall"
> & { readonly output?: Output } & {
  readonly messages?: ModelMessage[];
  readonly prompt?: string | ModelMessage[];
};

/**
 * Returns a `repairToolCall` that repairs as the given one does. The error of a call of an unknown tool
 * becomes `unknown_tool` with similar names: the model reads it in place of the name of the SDK's class.
 */
function withUnknownTools(
  repair: ToolCallRepairFunction<ToolSet> | undefined,
): ToolCallRepairFunction<ToolSet> {
  return async (call) => {
    const repaired = (await repair?.(call)) ?? null;
    const { error, toolCall, tools } = call;
    if (repaired === null && NoSuchToolError.isInstance(error)) {
      // The SDK throws this object next, and shows its name and message to the model.
      const message = policies.noSuchTool(toolCall.toolName, Object.keys(tools));
      Object.assign(error, { name: "unknown_tool", message });
    }
    return repaired;
  };
}
