import type { LanguageModel, ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import type { RecordEdits } from "../tool/edit/edit-variable.ts";
import { isFrom, type PromptStage, promptStages, type RuntimeTool } from "../tool/runtime-tool.ts";
import type { Files } from "../tool/files.ts";
import { variableTools } from "../tool/variables/variable-tools.ts";
import { wrapTools } from "../tool/tool-call.ts";
import { compact } from "../value/json.ts";
import type { Effects, WrapOptions, WrappedTool } from "../tool/wrapped-tool.ts";
import { type Agent, isOffered, tagsOf } from "./agent.ts";
import { type AskAgent, DELEGATE, delegateTool, type FindAgent } from "./delegate-tool.ts";
import { deferredTools, findTools } from "./find-tools.ts";
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

/**
 * Opens the tools of a turn: the agent's tools, the tool to call other agents, and the runtime's own tools. An agent's
 * tool takes precedence over the runtime's tool of the same name.
 */
export async function openToolbox(
  agent: Agent,
  options: WrapOptions,
  services: PlatformServices & ToolboxOptions,
) {
  const { adapt = (tool) => tool, showsAll = false, ask = cannotAsk } = services;
  const { planTools, onCall, findAgent } = services;
  const { delegates = [] } = agent;
  const canCall = findAgent !== undefined && !Object.hasOwn(agent.tools, DELEGATE);
  const calledAgents = canCall ? delegates.map((name) => findAgent(name)) : [];
  const tags = tagsOf(agent);
  const given = new Map(await wrapTools(agent.tools, options));
  const deferred = deferredTools(agent, given);
  const finding = findTools(deferred, agent.tools);
  for (const { name } of finding) given.delete(name);
  const { query, records } = services.queries?.(options) ?? {};
  const queries = query === undefined || !isOffered(query.name, agent) ? [] : [query];
  const { files, code } = services;
  const own = [...variableTools(compact({ files, records, user: agent.userScope })), ...queries];
  if (code !== undefined) {
    const inCode = new Map([...(await wrapTools(queries, options)), ...given]);
    const { toolMs: timeMs } = options;
    // Code that crashed the process would crash it again in each attempt.
    own.push({ ...code({ tools: () => inCode, onCall, ...compact({ timeMs }) }), effects: "once" });
  }
  const isFree = ({ name }: RuntimeTool) =>
    isOffered(name, agent) && !Object.hasOwn(agent.tools, name);
  const runtime = [
    ...finding,
    ...own.filter(isFree),
    ...(calledAgents.length === 0 ? [] : [delegateTool(calledAgents, ask, options)]),
    ...[...((await planTools?.(agent, options)) ?? []), ...(tags?.tools ?? [])].filter(isFree),
  ];
  const inOrder = promptStages.flatMap((stage) =>
    runtime.filter(({ offeredFrom = "variable" }) => offeredFrom === stage),
  );
  const tools = [...given, ...(await wrapTools(inOrder, options))];
  const wrapped = new Map(tools.map(([name, tool]) => [name, adapt(tool)]));
  const unwrapped = runtime.map(({ name, inputSchema }) => [name, { inputSchema }]);
  const plain: ToolSet = { ...Object.fromEntries(unwrapped), ...agent.tools };
  const ownTools = new Map(runtime.map((tool) => [tool.name, tool]));

  /** The stage from which one of the runtime's own tools is offered. Undefined for an agent's, which always is. */
  const offeredFrom = (name: string) => {
    const tool = ownTools.get(name);
    return tool && (tool.offeredFrom ?? "variable");
  };
  const shown = (names: Iterable<string>): ToolSet =>
    Object.fromEntries(
      [...names].flatMap((name) => {
        const tool = wrapped.get(name);
        return tool === undefined ? [] : [[name, tool.shown]];
      }),
    );

  return {
    /** The unwrapped tools, with the schemas that resolved inputs are checked against. */
    plain,
    /** The agent's tools that the model is offered once it has found them. */
    deferred,
    /** All tools that a call or a message may name. */
    all: shown(wrapped.keys()),
    hasTags: tags !== undefined,
    offeredFrom,
    get: (name: string): WrappedTool | undefined => wrapped.get(name),

    /** The effects of running the tool again after a crash. `once` for a tool that no longer exists. */
    effectsOf(name: string): Effects {
      const tool = ownTools.get(name);
      if (tool !== undefined) return tool.effects ?? "none";
      const isKnown = wrapped.has(name) && Object.hasOwn(agent.effects ?? {}, name);
      return (isKnown ? agent.effects?.[name] : undefined) ?? "once";
    },

    /** Wraps the model if it calls tools with tags. `newId` makes the ids of calls. */
    modelFor(model: LanguageModel, newId: () => string): LanguageModel {
      if (tags === undefined) return model;
      const { syntaxes = [] } = options;
      return tags.model(resolvedModel(model), { tools: plain, newId, syntaxes });
    },

    /**
     * The tools that the model is offered at this stage: the agent's in their order, then Byref's in the order
     * of their stages, then those that the model has found, so that tools are only added at the end. For the same
     * reason, the first that it has found brings all of Byref's.
     */
    offeredAt(stage: PromptStage, found: readonly string[] = []): ToolSet {
      const isOfferedAt = (name: string) =>
        showsAll || found.length > 0 || isFrom(stage, offeredFrom(name) ?? "start");
      const first = [...wrapped.keys()].filter(
        (name) => !deferred.names.has(name) && isOfferedAt(name),
      );
      return shown([...first, ...found]);
    },
  };
}

export type Toolbox = Awaited<ReturnType<typeof openToolbox>>;

function cannotAsk(): Promise<never> {
  return Promise.reject(new ByrefError("internal", "No agent can be asked here."));
}
