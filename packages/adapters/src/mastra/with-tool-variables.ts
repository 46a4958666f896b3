import { toolInputs, type guides, type wraps } from "../../../../src/internal-tool.ts";
import { type VariableStore, json } from "../../../../src/internal.ts";
import { ClientCalls, Run, Runs, type StoreForRun, storeOpener, wrapCoreTool } from "./run.ts";
import { taintsByStore, VARIABLE_TOOL } from "../agent/wrap-tools.ts";
import {
  asWritten,
  expandObject,
  type ExpandingOptions,
  widenAnswer,
} from "../agent/expand-answer.ts";
import {
  type Scoring,
  scoringWith,
  type Showing,
  expandChunks,
  expandedFullOutput,
  expandedModelOutput,
  shownEvents,
} from "./expand-output.ts";
import type {
  AgentMembers,
  CallOptions,
  CoreTool,
  MastraAgent,
  StandardSchema,
  ToolsFor,
} from "./mastra-agent.ts";
import { type FlexibleSchema, type JSONSchema7, type ModelMessage, asSchema } from "ai";
import { listingVariables, withGuide } from "../agent/step-prompt.ts";
import {
  type VariableToolName,
  type VariableToolsOptions,
  variableTools as sdkTools,
} from "../agent/variable-tools.ts";
import type { Json } from "../../../../src/references.ts";
import * as z from "zod";
import { messageOf } from "../../../../src/errors.ts";

/** Options of a Mastra agent that works by reference, in addition to `WrapOptions`. */
export interface ToolVariablesOptions extends Omit<wraps.WrapOptions, "store"> {
  /** How much the prompt explains references. Default: `auto`. */
  readonly instructionStyle?: guides.InstructionStyle;
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
  if (fork.constructor !== given.constructor) {
    throw new TypeError("withToolVariables takes no subclass of Agent.");
  }
  new VariableAgent(fork, options).attach();
  originals.set(fork, given);
  // It has the same class and the same settings.
  return fork as unknown as Agent;
}

/** An agent that is wrapped again works with the new options only. */
const originals = new WeakMap<object, AgentMembers>();

const runsOf = new WeakMap<object, Runs>();

/** See `changeInput` of `byref/agent`: the same for a call that waits in a run of this agent, in this process. */
export async function changeInput(
  agent: MastraAgent,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
  input: json.JsonObject,
): Promise<string> {
  return (runsOf.get(agent)?.resume(runId) ?? new Run(runId)).change(toolCallId, input);
}

/** All of them are in `@mastra/core` 1.68; older versions lack some. */
const MEMBERS = [
  "__fork",
  "__listLLMRequestProcessors",
  "convertTools",
  "generate",
  "getDefaultOptions",
  "listScorers",
  "listConfiguredInputProcessors",
  "listTools",
  "resumeGenerate",
  "resumeStream",
  "stream",
];

function requireMembers(agent: unknown): void {
  const members = agent as Readonly<Record<string, unknown>>;
  const missing = MEMBERS.filter((name) => typeof members[name] !== "function").join(", ");
  if (missing !== "") {
    throw new TypeError(
      `withToolVariables needs @mastra/core 1.68 or newer: the agent has no ${missing}.`,
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
  readonly #runs = new Runs();
  readonly #taintOf = taintsByStore();
  readonly #openStore: ReturnType<typeof storeOpener>;
  readonly #scoring: Scoring;
  readonly #clientCalls = new ClientCalls();
  /**
   * Runs by the processor of their prompts, which Mastra passes with the call. Run ids are not used, because a
   * client may choose them.
   */
  readonly #runOf = new WeakMap<object, Run>();

  constructor(agent: AgentMembers, options: ToolVariablesOptions) {
    const { store, syntaxes } = options;
    this.#agent = agent;
    this.#options = options;
    this.#openStore = storeOpener(store);
    this.#scoring = scoringWith(json.compact({ syntaxes }));
  }

  attach(): void {
    const agent = this.#agent;
    runsOf.set(agent, this.#runs);
    const { convertTools, generate, stream, resumeGenerate, resumeStream, listScorers } = agent;
    const fork = agent.__fork.bind(agent);
    Object.assign(agent, {
      convertTools: async (given: ToolsFor) =>
        this.#wrapped(await convertTools.call(agent, given), given),
      generate: this.#calling("start", generate, expandedFullOutput),
      stream: this.#calling("start", stream, expandedModelOutput),
      resumeGenerate: this.#calling("resume", resumeGenerate, expandedFullOutput),
      resumeStream: this.#calling("resume", resumeStream, expandedModelOutput),
      listScorers: async (given?: object) =>
        this.#scoring.ofAgent(await listScorers.call(agent, given)),
      // Mastra forks agents to change their settings.
      __fork: () => {
        const copy = fork();
        new VariableAgent(copy, this.#options).attach();
        return copy;
      },
    } satisfies Partial<AgentMembers>);
  }

  #calling<Output>(
    how: "start" | "resume",
    call: (input: unknown, options?: CallOptions) => Promise<Output>,
    show: (output: Output, showing: Showing) => Output | Promise<Output>,
  ) {
    return async (input: unknown, given?: CallOptions): Promise<Output> => {
      const { options, showing } = await this.#begin(how, given);
      try {
        const output = await call.call(this.#agent, input, options);
        return showing === undefined ? output : await show(output, showing);
      } catch (error) {
        // A run that could not be resumed still waits.
        if (showing !== undefined && how === "start") this.#runs.end(showing.run);
        throw error;
      }
    };
  }

  /**
   * Opens the run of a call. A call that is made of others has none: with `untilIdle` Mastra calls `stream`
   * again, and the values must be inserted only once.
   */
  async #begin(
    how: "start" | "resume",
    given: CallOptions = {},
  ): Promise<{ readonly options: CallOptions; readonly showing?: Showing }> {
    const { requestContext } = given;
    const defaults = await this.#agent.getDefaultOptions(json.compact({ requestContext }));
    const all: CallOptions = { ...defaults, ...given };
    const { requireToolApproval, structuredOutput, isTaskComplete } = all;
    if (all.untilIdle) return { options: given };
    const run = this.#runs[how](all.runId);
    run.requiresApproval = requireToolApproval || run.requiresApproval;
    const { syntaxes } = this.#options;
    // The answer to another agent is read by its model.
    const isForModel = all.backgroundTaskPolicy?.allowDelegationDispatch === false;
    const expanding: ExpandingOptions = {
      ...json.compact({ syntaxes }),
      ...(isForModel && { sealed: "keep" }),
    };
    const answers =
      structuredOutput?.schema &&
      (await answerSchema(structuredOutput.schema, expanding, (answer, schema) =>
        expandObject(answer, run.store, expanding, { schema }),
      ));
    const showing: Showing = {
      run,
      clientCalls: this.#clientCalls,
      expanding,
      scored: (data) => this.#scoring.shown(data, run.store),
      schema: answers?.values,
      isJson: structuredOutput !== undefined && structuredOutput.model === undefined,
    };
    const processors =
      all.inputProcessors ?? (await this.#agent.listConfiguredInputProcessors(requestContext));
    const processor = this.#promptProcessor(run);
    this.#runOf.set(processor, run);
    const options = {
      ...given,
      ...shownEvents(all, showing, () => this.#end(run)),
      ...(isTaskComplete?.scorers && {
        isTaskComplete: {
          ...isTaskComplete,
          scorers: isTaskComplete.scorers.map((scorer) =>
            this.#scoring.reading(scorer, () => run.store),
          ),
        },
      }),
      ...(answers && { structuredOutput: { ...structuredOutput, schema: answers.schema } }),
      experimentalTransform: [
        () => expandChunks(showing),
        ...[all.experimentalTransform ?? []].flat(),
      ],
      runId: run.id,
      inputProcessors: [...processors, processor],
      // The tools call the function, with resolved inputs.
      ...json.compact({ requireToolApproval: requireToolApproval && true }),
    };
    return { options, showing };
  }

  /** The options of the pipeline for a run's calls. */
  #wrapOptions({ store }: Run): wraps.WrapOptions {
    const { instructionStyle: _style, ...options } = this.#options;
    return { taint: this.#taintOf(store), ...options, store };
  }

  /**
   * Returns the processor that adds the guide and the list of variables to the prompts of a run. Mastra runs it on each
   * prompt before it is sent, and does not store what it adds.
   */
  #promptProcessor(run: Run) {
    const { instructionStyle = "auto", syntaxes } = this.#options;
    let prepare: ReturnType<typeof listingVariables> | undefined;
    let stepNumber = 0;
    return {
      id: "byref-variables",
      processLLMRequest: async ({ prompt }: { readonly prompt: readonly ModelMessage[] }) => {
        // Approvals of calls from now on are requested in this process.
        run.isForeign = false;
        prepare ??= listingVariables({ ...this.#wrapOptions(run), instructionStyle });
        const system = prompt.filter((message) => message.role === "system");
        const others = prompt.filter(({ role }) => role !== "system");
        const messages = this.#clientCalls.asWritten(asWritten(others));
        // Only these fields are read; the rest of a step belongs to the SDK's loop.
        const step = { messages, stepNumber: stepNumber++ } as unknown as Parameters<
          typeof prepare
        >[0];
        const listed = (await prepare(step))?.messages ?? messages;
        const guided = withGuide(system, instructionStyle, syntaxes);
        const instructions: readonly ModelMessage[] = Array.isArray(guided)
          ? guided
          : [{ role: "system", content: String(guided) }];
        return { prompt: [...instructions, ...listed.map(inParts)] };
      },
    };
  }

  #end(run: Run): void {
    this.#runs.end(run);
    this.#scoring.ended(run);
  }

  /** The tools of a call that is not made here, such as `generateLegacy`, stay as they are. */
  async #wrapped(tools: Record<string, CoreTool>, given: ToolsFor) {
    const run = this.#runOf.get(given.inputProcessors?.at(-1) ?? {});
    if (run === undefined) return tools;
    run.begin(await this.#openStore(run, given), given);
    const options = this.#wrapOptions(run);
    const { requestContext } = given;
    const own = await this.#agent.listTools({ requestContext });
    const entries = Object.entries(tools).map(async ([name, tool]) => {
      const isVariableTool = VARIABLE_TOOL in (own[name] ?? {});
      return [name, isVariableTool ? tool : await wrapCoreTool(name, tool, { run, options })];
    });
    return Object.fromEntries(await Promise.all(entries));
  }
}

/** A prompt for a provider has parts where a message may have a text. */
function inParts(message: ModelMessage): ModelMessage {
  return message.role === "user" && typeof message.content === "string"
    ? { ...message, content: [{ type: "text", text: message.content }] }
    : message;
}

/** A tool of the AI SDK as Mastra takes it: its description is a text, and it has an id. */
export interface MastraVariableTool {
  id: string;
  description: string;
  inputSchema: FlexibleSchema<Json>;
  execute: (...call: never[]) => unknown;
}

/**
 * Returns the tools of `byref/agent` with which a model looks into its variables, for the tools of an agent of
 * Mastra. Mastra passes a result to `toModelOutput` by itself.
 */
export function variableTools<Name extends VariableToolName = VariableToolName>(
  options: VariableToolsOptions<Name>,
): Record<Name, MastraVariableTool> {
  const entries = Object.entries<wraps.AnyTool>(sdkTools(options)).map(([id, tool]) => {
    const { toModelOutput } = tool;
    if (toModelOutput === undefined) return [id, { ...tool, id }];
    const shown = (output: Json) => toModelOutput({ toolCallId: "", input: null, output });
    return [id, { ...tool, id, toModelOutput: shown }];
  });
  return Object.fromEntries(entries) as Record<Name, MastraVariableTool>;
}

/** The schemas that were made here. Mastra passes them on to agents that may be wrapped, too. */
const made = new WeakSet<object>();

/**
 * Returns the schema for Mastra, in whose answers parts may be references, and the JSON Schema of answers with values.
 * `expand` replaces the references in an answer before it is validated.
 */
async function answerSchema(
  given: object,
  options: ExpandingOptions,
  expand: (answer: unknown, values: JSONSchema7) => Promise<unknown>,
) {
  if (made.has(given)) return undefined;
  const own = standardOf(given) ?? (await converted(given));
  const jsonSchemaOf = (io: "input" | "output", format: object) =>
    widenAnswer(own.jsonSchema[io](format), options);
  const values = own.jsonSchema.input({ target: "draft-07", libraryOptions: UNREPRESENTABLE });
  const schema: StandardSchema = {
    "~standard": {
      ...own,
      // Mastra treats the schemas of some vendors as theirs.
      vendor: "byref",
      validate: async (answer) => own.validate(await expand(answer, values)),
      jsonSchema: {
        input: (format) => jsonSchemaOf("input", format),
        output: (format) => jsonSchemaOf("output", format),
      },
    },
  };
  made.add(schema);
  return { schema, values };
}

/** As Mastra converts schemas, a part that JSON Schema does not have may be anything. */
const UNREPRESENTABLE = { unrepresentable: "any" };

type Standard = StandardSchema["~standard"];

function standardOf(schema: object): Standard | undefined {
  const own: unknown = "~standard" in schema ? schema["~standard"] : undefined;
  return json.isObject(own) && json.isObject(own.jsonSchema)
    ? (own as unknown as Standard)
    : undefined;
}

type JSONSchema = Parameters<typeof z.fromJSONSchema>[0];

/** Converts a schema of Zod 3 or the AI SDK, or a JSON Schema. */
async function converted(given: object): Promise<Standard> {
  const isSchema = "~standard" in given || "jsonSchema" in given;
  const own = asSchema(
    isSchema ? (given as FlexibleSchema<unknown>) : z.fromJSONSchema(given as JSONSchema),
  );
  const plain = isSchema ? await own.jsonSchema : given;
  return {
    version: 1,
    validate: async (value) => {
      const result = (await own.validate?.(value)) ?? { success: true, value };
      if (result.success) return { value: result.value };
      const issues = toolInputs.issuesOf(result.error);
      return {
        issues: issues.length > 0 ? issues : [{ path: [], message: messageOf(result.error) }],
      };
    },
    jsonSchema: { input: () => plain, output: () => plain },
  };
}
