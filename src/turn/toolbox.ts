import type { LanguageModel, ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import type { RecordEdits } from "../tool/edit/edited-value.ts";
import { isFrom, type PromptStage, promptStages, type RuntimeTool } from "../tool/runtime-tool.ts";
import type { Files } from "../tool/files.ts";
import { variableTools } from "../tool/variables/variable-tools.ts";
import { wrapRuntimeTools, wrapTools } from "../tool/tool-call.ts";
import { compact } from "../value/json.ts";
import type { Effects, WrapOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import { type Agent, type CapabilityTags, isOffered, tagsOf } from "./agent.ts";
import { type AskAgent, DELEGATE, delegateTool, type FindAgent } from "./delegate-tool.ts";
import { type DeferredTools, deferredTools, findTools } from "./find-tools.ts";
import { resolvedModel } from "./model/model-call.ts";

/** What `run_code` receives of a turn. */
export interface CodeOptions {
  /** Returns the tools that code may call; called once per run. */
  readonly tools: () => ReadonlyMap<string, WrappedTool>;
  /** Awaited before each tool call. If it throws, the call fails. */
  readonly onCall?: (() => void | Promise<void>) | undefined;
  /** Time limit of one run in milliseconds, tool calls included. Default: the limit of any tool. */
  readonly timeMs?: number;
}

/** Creates `run_code`. */
export type MakeCodeTool = (options: CodeOptions) => RuntimeTool;

/** The tools' access to queries. */
export interface QueryTools {
  /** `query_variables`. */
  readonly query: RuntimeTool;
  /** Edits of records for `edit_variable`. */
  readonly records: RecordEdits;
}

/** The platform's services for the runtime's own tools. */
export interface PlatformServices {
  /** Creates `run_code`. Without it, there is no such tool. */
  readonly code?: MakeCodeTool | undefined;
  /** The bucket of `export_variable`. Without it, there is no such tool. */
  readonly files?: Files;
  /** Creates `query_variables`, and finds records to edit. Without it, there is no such tool. */
  readonly queries?: (wrap: WrapOptions) => QueryTools | undefined;
  /** Creates `propose_plan`. Without it, models cannot propose plans. */
  readonly planTool?: (agent: Agent) => RuntimeTool;
  /** Finds an agent to call. Without it, agents cannot call one another. */
  readonly findAgent?: FindAgent;
}

/** Options for the tools of a turn or a plan run. */
export interface ToolboxOptions {
  /** Calls another agent. Default: calls fail, although plans may name the tool. */
  readonly ask?: AskAgent;
  /** Changes a tool for this place. Default: unchanged. */
  readonly adapt?: (tool: WrappedTool) => WrappedTool;
  /** Called and awaited before code calls a tool. If it throws, the call fails. */
  readonly onCall?: () => Promise<void>;
  /** Offers the runtime's own tools at every stage. */
  readonly showsAll?: boolean;
}

/** The tools of a turn: the agent's tools, the tool to call other agents, and the runtime's own tools. */
export class Toolbox {
  /** The unwrapped tools, with the schemas that resolved inputs are checked against. */
  readonly plain: ToolSet;
  readonly #tools: Tools;

  /** Opens the tools. An agent's tool takes precedence over the runtime's tool of the same name. */
  static async open(
    agent: Agent,
    options: WrapOptions,
    services: PlatformServices & ToolboxOptions,
  ): Promise<Toolbox> {
    const { adapt, showsAll = false } = services;
    const given = new Map(await wrapTools(agent.tools, options));
    const deferred = deferredTools(agent, given);
    const finding = findTools(deferred, agent.tools);
    for (const { name } of finding) given.delete(name);
    const own = await ownTools(options, { ...services, agent, callable: given });
    const chosen = own.filter(({ name }) => isOffered(name, agent) && !given.has(name));
    const asking = delegateTools(agent, options, services);
    const tags = tagsOf(agent);
    const tagged = (tags?.tools ?? []).filter(
      ({ name }) => isOffered(name, agent) && !Object.hasOwn(agent.tools, name),
    );
    const proposing = proposingTools(agent, services);
    const runtime = [...finding, ...chosen, ...asking, ...proposing, ...tagged];
    const effects = new Map(runtime.map(({ name, effects = "none" }) => [name, effects] as const));
    for (const name of given.keys()) effects.set(name, effectsOf(name, agent));
    const inOrder = promptStages.flatMap((stage) =>
      runtime.filter(({ offeredFrom = "variable" }) => offeredFrom === stage),
    );
    return new Toolbox({
      wrapped: adapted(new Map([...given, ...(await wrapRuntimeTools(inOrder, options))]), adapt),
      offeredFrom: new Map(
        inOrder.map(({ name, offeredFrom = "variable" }) => [name, offeredFrom] as const),
      ),
      effects,
      showsAll,
      deferred,
      tags,
      syntaxes: options.syntaxes,
      plain: { ...plainSetOf(runtime), ...agent.tools },
    });
  }

  private constructor(tools: Tools) {
    this.#tools = tools;
    this.plain = tools.plain;
  }

  /** The effects of running the tool again after a crash. `once` for a tool that no longer exists. */
  effectsOf(name: string): Effects {
    return this.#tools.effects.get(name) ?? "once";
  }

  get(name: string): WrappedTool | undefined {
    return this.#tools.wrapped.get(name);
  }

  /** True if the model calls tools with tags. */
  get hasTags(): boolean {
    return this.#tools.tags !== undefined;
  }

  /** Wraps the model if it calls tools with tags. `newId` makes the ids of calls. */
  modelFor(model: LanguageModel, newId: () => string): LanguageModel {
    const { tags, plain, syntaxes = [] } = this.#tools;
    return tags === undefined
      ? model
      : tags.model(resolvedModel(model), { tools: plain, newId, syntaxes });
  }

  /** The agent's tools that the model is offered once it has found them. */
  get deferred(): DeferredTools {
    return this.#tools.deferred;
  }

  /**
   * The tools that the model is offered at this stage: the agent's in their order, then Byref's in the order
   * of their stages, then those that the model has found, so that tools are only added at the end. For the same
   * reason, the first that it has found brings all of Byref's.
   */
  offeredAt(stage: PromptStage, found: readonly string[] = []): ToolSet {
    const { wrapped, offeredFrom, showsAll, deferred } = this.#tools;
    const isOfferedAt = (name: string) =>
      showsAll || found.length > 0 || isFrom(stage, offeredFrom.get(name) ?? "start");
    const first = [...wrapped].filter(([name]) => !deferred.names.has(name) && isOfferedAt(name));
    const later = found.flatMap((name) => {
      const tool = wrapped.get(name);
      return tool === undefined ? [] : [[name, tool] as const];
    });
    return setOf(new Map([...first, ...later]));
  }

  /**
   * Returns the stage from which one of the runtime's own tools is offered. Undefined for an agent's tool, which is
   * always offered.
   */
  offeredFrom(name: string): PromptStage | undefined {
    return this.#tools.offeredFrom.get(name);
  }

  /** All tools that a call or a message may name. */
  get all(): ToolSet {
    return setOf(this.#tools.wrapped);
  }
}

interface Tools {
  readonly plain: ToolSet;
  readonly wrapped: ReadonlyMap<string, WrappedTool>;
  /** Stages by the name of each of the runtime's own tools. */
  readonly offeredFrom: ReadonlyMap<string, PromptStage>;
  readonly effects: ReadonlyMap<string, Effects>;
  readonly showsAll: boolean;
  readonly deferred: DeferredTools;
  readonly tags: CapabilityTags | undefined;
  readonly syntaxes: WrapOptions["syntaxes"];
}

function effectsOf(name: string, { effects = {} }: Agent): Effects {
  return Object.hasOwn(effects, name) ? (effects[name] ?? "once") : "once";
}

/** The tools before they are wrapped. */
function plainSetOf(tools: readonly RuntimeTool[]): ToolSet {
  return Object.fromEntries(tools.map(({ name, inputSchema }) => [name, { inputSchema }]));
}

function setOf(tools: ReadonlyMap<string, WrappedTool>): ToolSet {
  return Object.fromEntries(Array.from(tools, ([name, { shown }]) => [name, shown]));
}

/** The tool to propose plans. None without tools to plan with. */
function proposingTools(agent: Agent, { planTool }: PlatformServices): readonly RuntimeTool[] {
  const tool = Object.keys(agent.tools).length === 0 ? undefined : planTool?.(agent);
  if (tool === undefined) return [];
  return isOffered(tool.name, agent) && !Object.hasOwn(agent.tools, tool.name) ? [tool] : [];
}

interface Callable extends Pick<ToolboxOptions, "onCall"> {
  readonly agent: Agent;
  readonly callable: ReadonlyMap<string, WrappedTool>;
}

async function ownTools(
  options: WrapOptions,
  { code, files, callable, onCall, queries: queriesFor, agent }: PlatformServices & Callable,
): Promise<readonly RuntimeTool[]> {
  const { toolMs } = options;
  const { query, records } = queriesFor?.(options) ?? {};
  const queries = query === undefined || !isOffered(query.name, agent) ? [] : [query];
  const user = agent.userScope;
  const tools = [...variableTools(compact({ files, records, user })), ...queries];
  if (code === undefined) return tools;
  const time = toolMs === undefined ? {} : { timeMs: toolMs };
  const inCode = new Map([...(await wrapRuntimeTools(queries, options)), ...callable]);
  const runCode = code({ tools: () => inCode, onCall, ...time });
  // Code that crashed the process would crash it again in each attempt.
  return [...tools, { ...runCode, effects: "once" }];
}

/** The tool with which the agent calls others. None if there is no agent to call. */
function delegateTools(
  { delegates = [], tools }: Agent,
  wrap: WrapOptions,
  { findAgent, ask = cannotAsk }: PlatformServices & ToolboxOptions,
): readonly RuntimeTool[] {
  if (findAgent === undefined || delegates.length === 0) return [];
  if (Object.hasOwn(tools, DELEGATE)) return [];
  return [delegateTool({ calledAgents: delegates.map((name) => findAgent(name)), ask, wrap })];
}

function cannotAsk(): Promise<never> {
  return Promise.reject(new ByrefError("internal", "No agent can be asked here."));
}

function adapted(
  tools: ReadonlyMap<string, WrappedTool>,
  adapt: ToolboxOptions["adapt"] = (tool) => tool,
): ReadonlyMap<string, WrappedTool> {
  return new Map(Array.from(tools, ([name, tool]) => [name, adapt(tool)]));
}
