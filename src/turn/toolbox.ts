import type { ToolSet } from "ai";
import type { VariableStore } from "../store/variable-store.ts";
import type { MakeCodeTool } from "../tool/code-tool.ts";
import type { WrapOptions } from "../tool/prepared-call.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import type { Files } from "../tool/export-variable.ts";
import { variableTools } from "../tool/variable-tools.ts";
import { wrapRuntimeTools } from "../tool/wrap-runtime-tool.ts";
import { wrapTools } from "../tool/wrap-tool.ts";
import type { Effects, WrappedTool } from "../tool/wrapped-tool.ts";
import type { Agent } from "./agent.ts";

/** What the runtime's own tools need of where they run. */
export interface Facilities {
  /** Without it there is no `run_code`. */
  readonly code?: MakeCodeTool | undefined;
  /** Without one there is no `export_variable`. */
  readonly files?: Files;
}

/** The tools of a turn: the agent's, and the runtime's own for as long as there is something for them. */
export class Toolbox {
  readonly #store: VariableStore;
  readonly #agents: ReadonlyMap<string, WrappedTool>;
  readonly #own: ReadonlyMap<string, WrappedTool>;
  readonly #effects: ReadonlyMap<string, Effects>;

  /** The agent's tool goes before one of the runtime's of the same name. */
  static async open(agent: Agent, options: WrapOptions, facilities: Facilities): Promise<Toolbox> {
    const agents = await wrapTools(agent.tools, options);
    const own = ownTools(options, { ...facilities, callable: agents });
    const chosen = own.filter(({ name }) => isChosen(name, agent) && !agents.has(name));
    const effects = new Map(chosen.map(({ name, effects = "none" }) => [name, effects] as const));
    for (const name of agents.keys()) effects.set(name, effectsOf(name, agent));
    const wrapped = await wrapRuntimeTools(chosen, options);
    return new Toolbox({ store: options.store, agents, own: wrapped, effects });
  }

  private constructor({ store, agents, own, effects }: Tools) {
    this.#store = store;
    this.#agents = agents;
    this.#own = own;
    this.#effects = effects;
  }

  /** What running the tool again after a crash would do; of one that is gone nobody knows. */
  effectsOf(name: string): Effects {
    return this.#effects.get(name) ?? "once";
  }

  get(name: string): WrappedTool | undefined {
    return this.#agents.get(name) ?? this.#own.get(name);
  }

  /** As the model is shown them now. */
  get shown(): ToolSet {
    return this.#store.count() === 0 ? setOf(this.#agents) : this.all;
  }

  /** The same for messages of the past: an image that was read then is not shown again. */
  get past(): ToolSet {
    const tools = Object.entries(this.all).map(([name, tool]) => {
      const { toModelOutput: _, ...rest } = tool;
      return [name, this.#own.has(name) ? rest : tool];
    });
    return Object.fromEntries(tools) as ToolSet;
  }

  /** All that a message may speak of. */
  get all(): ToolSet {
    return { ...setOf(this.#agents), ...setOf(this.#own) };
  }
}

interface Tools {
  readonly store: VariableStore;
  readonly agents: ReadonlyMap<string, WrappedTool>;
  readonly own: ReadonlyMap<string, WrappedTool>;
  readonly effects: ReadonlyMap<string, Effects>;
}

function effectsOf(name: string, { effects = {} }: Agent): Effects {
  return Object.hasOwn(effects, name) ? (effects[name] ?? "once") : "once";
}

function setOf(tools: ReadonlyMap<string, WrappedTool>): ToolSet {
  return Object.fromEntries(Array.from(tools, ([name, tool]) => [name, tool.shown]));
}

function ownTools(
  { toolMs }: WrapOptions,
  { code, files, callable }: Facilities & { readonly callable: ReadonlyMap<string, WrappedTool> },
): readonly RuntimeTool[] {
  const tools = variableTools(files === undefined ? {} : { files });
  if (code === undefined) return tools;
  const time = toolMs === undefined ? {} : { timeMs: toolMs };
  const runCode = code({ tools: () => callable, ...time });
  // What has brought a process down would do so again in each attempt.
  return [...tools, { ...runCode, effects: "once" }];
}

function isChosen(name: string, { variableTools: chosen = true }: Agent): boolean {
  return typeof chosen === "boolean" ? chosen : chosen.includes(name);
}
