import type { LanguageModel, ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { MakeCodeTool } from "../tool/code/code-tool.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import type { Files } from "../tool/files.ts";
import type { CapabilityTags } from "../plan/capability/capability-model.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import { variableTools } from "../tool/variables/variable-tools.ts";
import { wrapRuntimeTools } from "../tool/wrap-runtime-tool.ts";
import { wrapTools } from "../tool/wrap-tool.ts";
import type { Effects, WrapOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import { type Agent, isOffered, tagsOf } from "./agent.ts";
import { type AskAgent, DELEGATE, delegateTool, type FindAgent } from "./delegate-tool.ts";
import { hasListedVariables } from "./history/prompt.ts";
import { resolvedModel } from "./model/prepare-model-call.ts";

/** What the runtime's own tools need of where they run. */
export interface PlatformServices {
  /** Without it there is no `run_code`. */
  readonly code?: MakeCodeTool | undefined;
  /** Without one there is no `export_variable`. */
  readonly files?: Files;
  /** Without it no model can propose a plan. */
  readonly planTool?: (agent: Agent) => RuntimeTool;
  /** Front ends of plans that may run here. */
  readonly planFormats?: readonly PlanFormat[];
  /** Without it no agent can ask another. */
  readonly findAgent?: FindAgent;
}

/** What tools are in the steps in which they are called. */
export interface ToolboxOptions {
  /** How an agent asks another. Default: it cannot, though its plans may speak of it. */
  readonly ask?: AskAgent;
  /** What becomes of a tool here. Default: it is what it is anywhere. */
  readonly adapt?: (tool: WrappedTool) => WrappedTool;
  /** Called before code calls a tool, which waits for it; what it throws fails the call. */
  readonly onCall?: () => Promise<void>;
  /** The runtime's own are shown whether there are variables or not. */
  readonly showsAll?: boolean;
}

/**
 * The tools of a turn: the agent's, the one with which it asks others, and the runtime's own for as long as
 * there is something for them.
 */
export class Toolbox {
  /** As they were given, with the schemas that resolved inputs are checked against. */
  readonly plain: ToolSet;
  readonly #tools: Tools;

  /** The agent's tool goes before one of the runtime's of the same name. */
  static async open(
    agent: Agent,
    options: WrapOptions,
    services: PlatformServices & ToolboxOptions,
  ): Promise<Toolbox> {
    const { adapt, showsAll = false } = services;
    const given = await wrapTools(agent.tools, options);
    const own = ownTools(options, { ...services, callable: given });
    const chosen = own.filter(({ name }) => isOffered(name, agent) && !given.has(name));
    const asking = delegateTools(agent, options, services);
    const tags = tagsOf(agent);
    const tagged = (tags?.tools ?? []).filter(
      ({ name }) => isOffered(name, agent) && !Object.hasOwn(agent.tools, name),
    );
    const proposing = proposingTools(agent, services);
    const runtime = [...chosen, ...asking, ...proposing, ...tagged];
    const effects = new Map(runtime.map(({ name, effects = "none" }) => [name, effects] as const));
    for (const name of given.keys()) effects.set(name, effectsOf(name, agent));
    const always = new Map([
      ...given,
      ...(await wrapRuntimeTools([...asking, ...proposing, ...tagged], options)),
    ]);
    return new Toolbox({
      store: options.store,
      always: adapted(always, adapt),
      withVariables: adapted(await wrapRuntimeTools(chosen, options), adapt),
      effects,
      showsAll,
      tags,
      plain: { ...plainSetOf(runtime), ...agent.tools },
    });
  }

  private constructor(tools: Tools) {
    this.#tools = tools;
    this.plain = tools.plain;
  }

  /** What running the tool again after a crash would do; of one that is gone nobody knows. */
  effectsOf(name: string): Effects {
    return this.#tools.effects.get(name) ?? "once";
  }

  get(name: string): WrappedTool | undefined {
    const { always, withVariables } = this.#tools;
    return always.get(name) ?? withVariables.get(name);
  }

  /** The model, which calls them natively or seems to; `newId` is for the ids of calls. */
  modelFor(model: LanguageModel, newId: () => string): LanguageModel {
    const { tags, plain } = this.#tools;
    return tags === undefined ? model : tags.model(resolvedModel(model), { tools: plain, newId });
  }

  /** As the model is shown them now. */
  get shown(): ToolSet {
    const { always, showsAll, store } = this.#tools;
    return showsAll || hasListedVariables(store) ? this.all : setOf(always);
  }

  /** All that a message may speak of. */
  get all(): ToolSet {
    const { always, withVariables } = this.#tools;
    return { ...setOf(always), ...setOf(withVariables) };
  }
}

interface Tools {
  readonly plain: ToolSet;
  readonly store: VariableStore;
  /** What the model is shown in each step. */
  readonly always: ReadonlyMap<string, WrappedTool>;
  /** What it is shown when there are variables. */
  readonly withVariables: ReadonlyMap<string, WrappedTool>;
  readonly effects: ReadonlyMap<string, Effects>;
  readonly showsAll: boolean;
  readonly tags: CapabilityTags | undefined;
}

function effectsOf(name: string, { effects = {} }: Agent): Effects {
  return Object.hasOwn(effects, name) ? (effects[name] ?? "once") : "once";
}

/** As they are before they are wrapped. */
function plainSetOf(tools: readonly RuntimeTool[]): ToolSet {
  return Object.fromEntries(tools.map(({ name, inputSchema }) => [name, { inputSchema }]));
}

function setOf(tools: ReadonlyMap<string, WrappedTool>): ToolSet {
  return Object.fromEntries(Array.from(tools, ([name, tool]) => [name, tool.shown]));
}

/** There is nothing to plan without tools. */
function proposingTools(agent: Agent, { planTool }: PlatformServices): readonly RuntimeTool[] {
  const tool = Object.keys(agent.tools).length === 0 ? undefined : planTool?.(agent);
  if (tool === undefined) return [];
  return isOffered(tool.name, agent) && !Object.hasOwn(agent.tools, tool.name) ? [tool] : [];
}

interface Callable extends Pick<ToolboxOptions, "onCall"> {
  readonly callable: ReadonlyMap<string, WrappedTool>;
}

function ownTools(
  { toolMs }: WrapOptions,
  { code, files, callable, onCall }: PlatformServices & Callable,
): readonly RuntimeTool[] {
  const tools = variableTools(files === undefined ? {} : { files });
  if (code === undefined) return tools;
  const time = toolMs === undefined ? {} : { timeMs: toolMs };
  const runCode = code({ tools: () => callable, onCall, ...time });
  // What has brought a process down would do so again in each attempt.
  return [...tools, { ...runCode, effects: "once" }];
}

/** The tool with which the agent asks others; none where there is nobody to ask. */
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
