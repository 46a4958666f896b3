import {
  isStepCount,
  type LanguageModel,
  type StepResult,
  tool,
  ToolLoopAgent,
  type ToolSet,
} from "ai";
import * as z from "zod";
import { variableTools } from "../../adapters/src/agent/variable-tools.ts";
import { withToolVariables } from "../../adapters/src/agent/with-tool-variables.ts";
import { characters, MemoryStore, type VariableStore } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import { INSTRUCTIONS } from "./task.ts";

/** A way in which results reach the model and the next tool. */
export interface Arm {
  readonly name: string;
  open(tools: ToolSet): Conversation;
}

export interface Conversation {
  /** Plays a turn until the model calls no tool. */
  play(turn: PlayedTurn): Promise<Steps>;
  readonly store?: VariableStore;
  /** Tools that look into data that was put aside. Their results are not data of the task. */
  readonly readers: readonly string[];
}

/** The steps of a turn, as the SDK records them. */
export type Steps = readonly StepResult<ToolSet>[];

interface PlayedTurn {
  readonly model: LanguageModel;
  readonly prompt: string;
  readonly maxSteps: number;
}

type Agent = ToolLoopAgent<never, ToolSet>;

/** Plays a turn in the AI SDK's own loop. `by` may return another agent, as `withToolVariables` does. */
async function playTurn(
  { model, prompt, maxSteps }: PlayedTurn,
  tools: ToolSet,
  by: (agent: Agent) => Pick<Agent, "generate"> = (agent) => agent,
): Promise<Steps> {
  const agent = new ToolLoopAgent<never, ToolSet>({
    model,
    tools,
    instructions: INSTRUCTIONS,
    stopWhen: isStepCount(maxSteps),
    // After 429 and other temporary failures, at the pace that the provider asks for.
    maxRetries: 6,
  });
  const { steps } = await by(agent).generate({ prompt });
  return steps;
}

/** Characters of a result: a cap of 10,000 tokens at four characters each. */
const CAP_CHARS = 40_000;

/** Results are in the messages, up to a length. */
function capped(tools: ToolSet): Conversation {
  const shown = showing(tools, (text) => {
    if (text.length <= CAP_CHARS) return undefined;
    const start = characters.clip(text, CAP_CHARS);
    return `${start}\n[cut: ${text.length - start.length} more characters]`;
  });
  return { play: (turn) => playTurn(turn, shown), readers: [] };
}

/** Longer results become files. */
const OFFLOADED_CHARS = 4_000;
const PREVIEW_CHARS = 1_000;
/** Characters of a file returned by one call. */
const READ_CHARS = 20_000;

/** A long result becomes a file: the model sees a preview, and reads the rest in parts. */
function offloaded(tools: ToolSet): Conversation {
  const files = new Map<string, string>();
  const pathOf = (text: string) => {
    const known = Array.from(files).find(([, content]) => content === text);
    const path = known?.[0] ?? `/results/${files.size + 1}.txt`;
    files.set(path, text);
    return path;
  };
  const shown = showing(tools, (text) => {
    if (text.length <= OFFLOADED_CHARS) return undefined;
    const preview = characters.clip(text, PREVIEW_CHARS);
    const note = "The result is long, so it is in this file. Read it with read_file.";
    return JSON.stringify({ file: pathOf(text), characters: text.length, preview, note });
  });
  const readFile = tool({
    description: `Reads up to ${READ_CHARS} characters of a file, from an offset on.`,
    inputSchema: z.object({ path: z.string(), offset: z.int().min(0).optional() }),
    execute({ path, offset = 0 }) {
      const text = files.get(path);
      if (text === undefined) throw new Error(`There is no file ${path}.`);
      return text.slice(offset, offset + READ_CHARS);
    },
  });
  const all = { ...shown, read_file: readFile };
  return { play: (turn) => playTurn(turn, all), readers: ["read_file"] };
}

/** Returns tools that show their results to the model as another text. Undefined: as they are. */
function showing(tools: ToolSet, textFor: (text: string) => string | undefined): ToolSet {
  const entries = Object.entries(tools).map(([name, tool]) => {
    const toModelOutput = ({ output }: { readonly output: unknown }) => {
      // The tools of tasks return JSON.
      const value = output as Json;
      const text = textFor(typeof value === "string" ? value : JSON.stringify(value));
      if (text !== undefined) return { type: "text" as const, value: text };
      return typeof value === "string"
        ? { type: "text" as const, value }
        : { type: "json" as const, value: value as never };
    };
    return [name, { ...tool, toModelOutput }] as const;
  });
  return Object.fromEntries(entries) as ToolSet;
}

const VARIABLE_TOOLS = [
  "list_variables",
  "read_variable",
  "search_variable",
  "set_variable",
  "edit_variable",
] as const;

/** `byref/agent`, as an application uses it: results are variables, with tools that read and change them. */
function byReference(
  toolsOfTask: ToolSet,
  only: NonNullable<Parameters<typeof variableTools>[0]["only"]>,
): Conversation {
  const store = new MemoryStore();
  const own = variableTools({ store, only });
  const tools = { ...toolsOfTask, ...own };
  return {
    play: (turn) => playTurn(turn, tools, (agent) => withToolVariables(agent, { store })),
    store,
    readers: Object.keys(own),
  };
}

/** In the order of the tables. */
export const arms: readonly Arm[] = [
  {
    name: "value",
    open: (tools) => ({ play: (turn) => playTurn(turn, tools), readers: [] }),
  },
  { name: "cap", open: capped },
  { name: "offload", open: offloaded },
  { name: "reference", open: (tools) => byReference(tools, VARIABLE_TOOLS) },
  { name: "sql", open: (tools) => byReference(tools, [...VARIABLE_TOOLS, "query_variables"]) },
];

/** Returns the arms with these names; undefined: all. Throws for an unknown name. */
export function armsNamed(names: readonly string[] | undefined): readonly Arm[] {
  const unknown = names?.find((name) => !arms.some((arm) => arm.name === name));
  if (unknown !== undefined) {
    const known = arms.map(({ name }) => name).join(", ");
    throw new Error(`There is no arm ${unknown}; there are ${known}.`);
  }
  return arms.filter(({ name }) => names?.includes(name) ?? true);
}
