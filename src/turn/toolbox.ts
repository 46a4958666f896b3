import type { LanguageModel, ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import type { RecordEdits } from "../tool/edit/edited-value.ts";
import { isFrom, type PromptStage, promptStages, type RuntimeTool } from "../tool/runtime-tool.ts";
import type { Files } from "../tool/files.ts";
import { variableTools } from "../tool/variables/variable-tools.ts";
import { wrapRuntimeTools, wrapTools } from "../tool/tool-call.ts";
import { compact } from "../value/json.ts";
import type { Effects, WrapOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import { type Agent, isOffered, tagsOf } from "./agent.ts";
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

export type MakeCodeTool = (options: CodeOptions) => RuntimeTool;

export interface QueryTools {
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
  /** Creates `propose_plan` and `run_program`. Without it, models know no plans and programs. */
  readonly planTools?: (agent: Agent, wrap: WrapOptions) => Promise<readonly RuntimeTool[]>;
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
  /** The agent's tools that the model is offered once it has found them. */
  readonly deferred: DeferredTools;
  readonly #tools: Tools;

  /** Opens the tools. An agent's tool takes precedence over the runtime's tool of the same name. */
  static async open(
    agent: Agent,
    options: WrapOptions,
    services: PlatformServices & ToolboxOptions,
  ): Promise<Toolbox> {
    const given = new Map(await wrapTools(agent.tools, options));
    const deferred = deferredTools(agent, given);
    const finding = findTools(deferred, agent.tools);
    for (const { name } of finding) given.delete(name);
    const isFree = ({ name }: RuntimeTool) =>
      isOffered(name, agent) && !Object.hasOwn(agent.tools, name);
    const own = await ownTools(options, { ...services, agent, callable: given });
    const asking = delegateTools(agent, options, services);
    const planning = (await services.planTools?.(agent, options)) ?? [];
    const tagged = tagsOf(agent)?.tools ?? [];
    const runtime = [
      ...finding,
      ...own.filter(isFree),
      ...asking,
      ...[...planning, ...tagged].filter(isFree),
    ];
    const inOrder = promptStages.flatMap((stage) =>
      runtime.filter((tool) => stageOf(tool) === stage),
    );
    const all = [...given, ...(await wrapRuntimeTools(inOrder, options))];
    const { adapt = (tool) => tool, showsAll = false } = services;
    const wrapped = new Map(all.map(([name, tool]) => [name, adapt(tool)]));
    const { syntaxes } = options;
    return new Toolbox({ agent, runtime, wrapped, showsAll, syntaxes }, deferred);
  }

  private constructor(tools: Tools, deferred: DeferredTools) {
    this.#tools = tools;
    this.deferred = deferred;
    const own = tools.runtime.map(({ name, inputSchema }) => [name, { inputSchema }]);
    this.plain = { ...Object.fromEntries(own), ...tools.agent.tools };
  }

  /** The effects of running the tool again after a crash. `once` for a tool that no longer exists. */
  effectsOf(name: string): Effects {
    const own = this.#own(name);
    if (own !== undefined) return own.effects ?? "none";
    const { wrapped, agent } = this.#tools;
    const isKnown = wrapped.has(name) && Object.hasOwn(agent.effects ?? {}, name);
    return (isKnown ? agent.effects?.[name] : undefined) ?? "once";
  }

  get(name: string): WrappedTool | undefined {
    return this.#tools.wrapped.get(name);
  }

  get hasTags(): boolean {
    return tagsOf(this.#tools.agent) !== undefined;
  }

  /** Wraps the model if it calls tools with tags. `newId` makes the ids of calls. */
  modelFor(model: LanguageModel, newId: () => string): LanguageModel {
    const { agent, syntaxes = [] } = this.#tools;
    const tags = tagsOf(agent);
    if (tags === undefined) return model;
    return tags.model(resolvedModel(model), { tools: this.plain, newId, syntaxes });
  }

  /**
   * The tools that the model is offered at this stage: the agent's in their order, then Byref's in the order
   * of their stages, then those that the model has found, so that tools are only added at the end. For the same
   * reason, the first that it has found brings all of Byref's.
   */
  offeredAt(stage: PromptStage, found: readonly string[] = []): ToolSet {
    const { wrapped, showsAll } = this.#tools;
    const isOfferedAt = (name: string) =>
      showsAll || found.length > 0 || isFrom(stage, this.offeredFrom(name) ?? "start");
    const isDeferred = (name: string) => this.deferred.names.has(name);
    const first = [...wrapped].filter(([name]) => !isDeferred(name) && isOfferedAt(name));
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
    const own = this.#own(name);
    return own && stageOf(own);
  }

  /** All tools that a call or a message may name. */
  get all(): ToolSet {
    return setOf(this.#tools.wrapped);
  }

  #own(name: string): RuntimeTool | undefined {
    return this.#tools.runtime.find((tool) => tool.name === name);
  }
}

interface Tools {
  readonly agent: Agent;
  readonly runtime: readonly RuntimeTool[];
  readonly wrapped: ReadonlyMap<string, WrappedTool>;
  readonly showsAll: boolean;
  readonly syntaxes: WrapOptions["syntaxes"];
}

function stageOf({ offeredFrom = "variable" }: RuntimeTool): PromptStage {
  return offeredFrom;
}

function setOf(tools: ReadonlyMap<string, WrappedTool>): ToolSet {
  return Object.fromEntries(Array.from(tools, ([name, { shown }]) => [name, shown]));
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
