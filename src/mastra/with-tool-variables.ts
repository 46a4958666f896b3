import type { InstructionStyle } from "../turn/history/guide.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { WrapOptions } from "../tool/wrapped-tool.ts";
import { compact } from "../value/json.ts";
import { ClientCalls } from "./client-calls.ts";
import { expandedFullOutput, expandedModelOutput, type Showing } from "./expand-output.ts";
import type { AgentMembers, CallOptions, CoreTool, MastraAgent, ToolsFor } from "./mastra-agent.ts";
import { wrapCoreTool } from "./mastra-tool.ts";
import { promptProcessor } from "./prompt-processor.ts";
import { Runs } from "./run.ts";
import { type StoreForRun, Stores } from "./store-of-run.ts";

/** Options of a Mastra agent that works by reference, in addition to `WrapOptions`. */
export interface ToolVariablesOptions extends Omit<WrapOptions, "store"> {
  /** How much the prompt explains references. Default: `auto`. */
  readonly instructionStyle?: InstructionStyle;
  /**
   * The store of all runs, or a function that finds the store of a run. A store under `byref.store` in the
   * `RequestContext` comes first. Default: one in memory for each memory thread, else one for each run.
   */
  readonly store?: VariableStore | StoreForRun;
}

/**
 * Returns an agent of Mastra that works by reference. Results of tools are saved as variables, references in
 * inputs of tools are resolved, and answers are expanded for the caller. Memory keeps references and handles.
 * The given agent is not changed, and later changes of it do not count: wrap it before it is registered.
 * Throws a TypeError that names what the agent lacks.
 */
export function withToolVariables<Agent extends MastraAgent>(
  agent: Agent,
  options: ToolVariablesOptions = {},
): Agent {
  const given = originals.get(agent) ?? (agent as unknown as AgentMembers);
  requireMembers(given);
  const fork = given.__fork();
  if (Object.getPrototypeOf(fork) !== Object.getPrototypeOf(given)) {
    throw new TypeError("withToolVariables takes no subclass of Agent.");
  }
  new VariableAgent(fork, options).attach();
  originals.set(fork, given);
  // The same class with the same settings.
  return fork as unknown as Agent;
}

/** An agent that is wrapped again works with the new options only. */
const originals = new WeakMap<object, AgentMembers>();

/** All of them are in `@mastra/core` 1.71; older versions lack some. */
const MEMBERS = [
  "__fork",
  "__listLLMRequestProcessors",
  "convertTools",
  "generate",
  "getDefaultOptions",
  "listConfiguredInputProcessors",
  "resumeGenerate",
  "resumeStream",
  "stream",
];

function requireMembers(agent: unknown): void {
  const members = agent as Readonly<Record<string, unknown>>;
  const missing = MEMBERS.filter((name) => typeof members[name] !== "function");
  if (missing.length > 0) {
    const names = missing.join(", ");
    throw new TypeError(
      `withToolVariables needs @mastra/core 1.71 or newer: the agent has no ${names}.`,
    );
  }
  if (members.durable) {
    throw new TypeError("withToolVariables takes no agent with `durable`.");
  }
}

/** Replaces members of a fork. Its own methods call each other by these names. */
class VariableAgent {
  readonly #agent: AgentMembers;
  readonly #options: ToolVariablesOptions;
  readonly #runs: Runs;
  readonly #stores: Stores;
  readonly #clientCalls = new ClientCalls();

  constructor(agent: AgentMembers, options: ToolVariablesOptions) {
    const { store, instructionStyle: _style, ...rest } = options;
    this.#agent = agent;
    this.#options = options;
    this.#runs = new Runs(rest);
    this.#stores = new Stores(store);
  }

  attach(): void {
    const agent = this.#agent;
    const { convertTools, generate, stream, resumeGenerate, resumeStream } = agent;
    const fork = agent.__fork.bind(agent);
    Object.assign(agent, {
      convertTools: async (given: ToolsFor) =>
        this.#wrapped(await convertTools.call(agent, given), given),
      generate: (messages: unknown, options?: CallOptions) =>
        this.#run(options, (all) => generate.call(agent, messages, all), expandedFullOutput),
      stream: (messages: unknown, options?: CallOptions) =>
        this.#run(options, (all) => stream.call(agent, messages, all), expandedModelOutput),
      resumeGenerate: (data: unknown, options?: CallOptions) =>
        this.#run(options, (all) => resumeGenerate.call(agent, data, all), expandedFullOutput),
      resumeStream: (data: unknown, options?: CallOptions) =>
        this.#run(options, (all) => resumeStream.call(agent, data, all), expandedModelOutput),
      // Mastra forks agents to change their settings.
      __fork: () => {
        const copy = fork();
        new VariableAgent(copy, this.#options).attach();
        return copy;
      },
    } satisfies Partial<AgentMembers>);
  }
  async #run<Output>(
    given: CallOptions = {},
    call: (options: CallOptions) => Promise<Output>,
    show: (output: Output, showing: Showing) => Output | Promise<Output>,
  ): Promise<Output> {
    const begun = await this.#begin(given);
    return begun === undefined ? call(given) : show(await call(begun.options), begun.showing);
  }

  /**
   * Opens the run of a call. Returns undefined for a call that is made of others: with `untilIdle` Mastra
   * calls `stream` again, and the values must be inserted only once.
   */
  async #begin(
    given: CallOptions,
  ): Promise<{ showing: Showing; options: CallOptions } | undefined> {
    const { requestContext } = given;
    const defaults = await this.#agent.getDefaultOptions(compact({ requestContext }));
    const all: CallOptions = { ...defaults, ...given };
    const { requireToolApproval, structuredOutput, onFinish } = all;
    if (all.untilIdle) return undefined;
    const run = this.#runs.open(all.runId ?? crypto.randomUUID());
    run.requiresApproval = requireToolApproval || run.requiresApproval;
    const { instructionStyle = "auto", syntaxes } = this.#options;
    const options = () => this.#runs.wrapOptions(run);
    const clientCalls = this.#clientCalls;
    const processors =
      all.inputProcessors ?? (await this.#agent.listConfiguredInputProcessors(requestContext));
    return {
      showing: {
        run,
        clientCalls,
        expanding: compact({ syntaxes }),
        isJson: structuredOutput !== undefined && structuredOutput.model === undefined,
      },
      options: {
        ...given,
        runId: run.id,
        inputProcessors: [
          ...processors,
          promptProcessor({ run, clientCalls, instructionStyle, options }),
        ],
        // The tools call the function, with resolved inputs.
        ...(typeof requireToolApproval === "function" ? { requireToolApproval: true } : {}),
        onFinish: async (finished) => {
          if (finished.finishReason !== "suspended") this.#runs.end(run.id);
          await onFinish?.(finished);
        },
      },
    };
  }

  /** The tools of an older kind of call, and of a call that is not made here, stay as they are. */
  async #wrapped(tools: Record<string, CoreTool>, given: ToolsFor) {
    const run = given.runId === undefined ? undefined : this.#runs.get(given.runId);
    if (run === undefined || given.methodType.endsWith("Legacy")) return tools;
    run.begin(await this.#stores.open(run, given));
    const options = this.#runs.wrapOptions(run);
    const entries = Object.entries(tools).map(
      async ([name, tool]) => [name, await wrapCoreTool(name, tool, { run, options })] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
}
