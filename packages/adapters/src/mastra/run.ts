import {
  type Call,
  changeIn,
  type Decision,
  evictDue,
  ifDecided,
  modelOutput,
  noGuarded,
  outputOf,
  OwnTool,
  pinOf,
  withChange,
} from "../agent/wrap-tools.ts";
import type {
  Announced,
  ApprovalContext,
  CallOptions,
  Chunk,
  CoreTool,
  ToolOptions,
  ToolsFor,
} from "./mastra-agent.ts";
import { json, MemoryStore, Recent, type VariableStore } from "../../../../src/internal.ts";
import { policies, type wraps } from "../../../../src/internal-tool.ts";
import { jsonSchema, type JSONSchema7, type ModelMessage } from "ai";
import { withAnswerParts } from "../agent/expand-answer.ts";
import * as limits from "../../../../src/limits.ts";
import { allOf, type Naming } from "../../../../src/runtime.ts";

/** A call that waits for a person's approval, or that its tool has suspended. */
interface Asked extends Decision {
  /** The resolved input, for users. Undefined if the call could not run. */
  readonly shown: unknown;
}

/**
 * A run of an agent: from a question to an answer, with everything that it waits for. It is resumed under the same id.
 */
export class Run {
  readonly id: string;
  readonly clientTools = new Map<string, OwnTool>();
  /** Decides about calls of tools that do not decide for themselves. */
  requiresApproval: CallOptions["requireToolApproval"];
  /**
   * True until the run's model is called here. A call of a tool before that was made in another process, and waited.
   */
  isForeign = true;
  knownStore: VariableStore | undefined;
  #memory: readonly (string | undefined)[] | undefined;
  #part = 0;
  readonly #ledger = new policies.ApprovalLedger<Asked & { readonly part: number }>();

  constructor(id: string) {
    this.id = id;
  }

  /** The store of the run's variables, from when the run has its tools. */
  get store(): VariableStore {
    if (this.knownStore === undefined) throw new Error("The run has no store.");
    return this.knownStore;
  }

  /**
   * Begins, or continues when it is resumed. Throws if that call has another memory, which would see the
   * variables and inputs of this one; it may have none.
   */
  begin(store: VariableStore, { threadId, resourceId }: ToolsFor): void {
    const memory = [threadId, resourceId];
    this.#memory ??= memory;
    if (!memory.every((id, at) => id === undefined || id === this.#memory?.[at])) {
      throw new TypeError(`The run ${this.id} has another memory.`);
    }
    this.knownStore = store;
    this.#part++;
  }

  /** Stores the resolved input of a call, unless it is known from an earlier approval request. */
  ask(toolCallId: string, asked: Asked): void {
    if (!this.#hasWaited(toolCallId)) this.#ledger.ask(toolCallId, { ...asked, part: this.#part });
  }

  change(toolCallId: string, input: json.JsonObject): Promise<string> {
    return changeIn(this.#ledger, toolCallId, input);
  }

  shownOf(toolCallId: string): unknown {
    return this.#ledger.about(toolCallId)?.shown;
  }

  /**
   * Returns the decision about a call that is resumed, and removes it. Undefined for a call that has not waited:
   * Mastra runs a call that needs approval only in a later part of the run, after it was approved.
   */
  takeDecision(toolCallId: string): Decision | undefined {
    const hasWaited = this.#hasWaited(toolCallId);
    const decision = this.#ledger.take(toolCallId);
    return hasWaited ? decision : undefined;
  }

  #hasWaited(toolCallId: string): boolean {
    return (this.#ledger.about(toolCallId)?.part ?? this.#part) < this.#part;
  }
}

/** The runs that have not ended. A run that is forgotten is resumed as a foreign one. */
export class Runs {
  readonly #runs = new Recent<Run>();

  /** Begins a run. One of the same id that waits can no longer be resumed: a client may have chosen the id. */
  start(id: string = crypto.randomUUID()): Run {
    this.#runs.delete(id);
    return this.resume(id);
  }

  /** Returns the run; a new one if it is not known. */
  resume(id = ""): Run {
    return this.#runs.use(id, () => new Run(id));
  }

  end(run: Run): void {
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id);
  }
}

/** The run that needs a store. The ids of its memory are those that Mastra has checked. */
export interface StoredRun {
  readonly runId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
}

export type StoreForRun = (run: StoredRun) => VariableStore;

/** Key in the `RequestContext` for the store of a call. */
export const STORE_KEY = "byref.store";

/** Opens the stores of an agent's runs: given ones, else one for each memory thread, else one for each run. */
export function storeOpener(given: VariableStore | StoreForRun | undefined) {
  const threads = new Recent<VariableStore>();
  return async (run: Run, call: ToolsFor): Promise<VariableStore> => {
    const store = find(run, call);
    await evictDue(store);
    return store;
  };

  function find({ id, knownStore }: Run, call: ToolsFor): VariableStore {
    const { threadId, resourceId, requestContext } = call;
    const own: unknown = requestContext.get(STORE_KEY);
    if (isStore(own)) return own;
    // A request context that was stored while its run waited has lost the store.
    if (own !== undefined && knownStore === undefined) {
      throw new TypeError(`"${STORE_KEY}" in the request context is not a VariableStore.`);
    }
    if (typeof given === "object") return given;
    if (given !== undefined) return given({ runId: id, ...json.compact({ threadId, resourceId }) });
    if (knownStore !== undefined) return knownStore;
    const make = () => new MemoryStore();
    return threadId === undefined
      ? make()
      : threads.use(JSON.stringify([resourceId, threadId]), make);
  }
}

/** A client may set values of the request context, but no functions. */
function isStore(value: unknown): value is VariableStore {
  return json.isObject(value) && typeof value.evictDue === "function";
}

/** Tools of other agents, and of the working memory, which Mastra adds to prompts. */
const READ_BY_MODELS = /^agent-|^updateWorkingMemory$/u;

/**
 * Calls that the client executes. It receives the resolved input, and sends it back with its result: the
 * model is shown what it wrote. The oldest are forgotten. Some models give calls of other turns and threads the same id
 * (vllm-project/vllm#50295), so that a call is known by its input, too.
 */
export class ClientCalls {
  readonly #written = new Recent<{ readonly input: unknown }>();

  /**
   * Returns the call with its references resolved. A call that must not run, or that needs a person's approval,
   * stays unchanged, and is followed by its error.
   */
  async resolved(chunk: Chunk, run: Run): Promise<readonly Chunk[]> {
    const { toolCallId, toolName, args } = chunk.payload ?? {};
    const tool = run.clientTools.get(String(toolName));
    if (tool === undefined) return [chunk];
    const call = { toolCallId: String(toolCallId), messages: [], context: {} };
    const prepared = await tool.prepare(args, call as unknown as Call);
    if (prepared.kind === "ready" && prepared.approval === undefined) {
      this.#written.set(keyOf(call.toolCallId, prepared.input), { input: args });
      return [{ ...chunk, payload: { ...chunk.payload, args: prepared.input } }];
    }
    const error =
      prepared.kind === "failed"
        ? `${prepared.code}: ${prepared.message}`
        : `approval_required: ${prepared.approval?.reason ?? ""}`;
    const payload = { toolCallId, toolName, args, error };
    return [chunk, { ...chunk, type: "tool-error", payload }];
  }

  /** Returns the messages with the inputs as the model wrote them. */
  asWritten(messages: readonly ModelMessage[]): ModelMessage[] {
    return withAnswerParts(messages, (part) =>
      part.type === "tool-call"
        ? { ...part, ...this.#written.get(keyOf(part.toolCallId, part.input)) }
        : part,
    );
  }
}

/** The start of a long input: keys stay in memory. The same for inputs whose keys are in another order. */
function keyOf(toolCallId: string, input: unknown): string {
  // A history has JSON.
  const text = json.canonicalJson((input ?? null) as json.Json);
  return `${toolCallId} ${text.length} ${text.slice(0, limits.maxShownResultChars)}`;
}

/** Keys that Mastra adds to an input. The model does not write them. */
const OWN_KEYS = ["resumeData", "suspendedToolCallId", "suspendedToolRunId"];
/** Further keys of a tool that calls another agent. */
const AGENT_KEYS = ["threadId", "resourceId"];

/** Context of a call, passed to a tool's functions through the pipeline. */
interface Context {
  readonly approval?: ApprovalContext;
  readonly options?: ToolOptions;
  readonly added?: object;
  readonly outcome?: Outcome;
}

/** How a call ended, if not with a result or a failure. */
interface Outcome {
  isSuspended?: true;
  /** The result that the tool returned after it suspended the call. */
  returned?: unknown;
  /** An error that Mastra's loop must receive unchanged. */
  thrown?: { readonly error: unknown };
}

/** Returns the tool that Mastra's loop shows and calls by reference. */
export async function wrapCoreTool(
  name: string,
  tool: CoreTool,
  { run, options }: { readonly run: Run; readonly options: wraps.WrapOptions },
): Promise<CoreTool> {
  // A tool that the provider defines has its schema there, and is executed there.
  if ((tool.type ?? "function") !== "function") return tool;
  const isClients = tool.execute === undefined;
  const isRead = isClients || READ_BY_MODELS.test(name);
  const policies = [options.policy ?? [], isRead ? noGuarded : []].flat();
  const policy = policies.length > 1 ? allOf(...policies) : policies[0];
  // An application names results by the tool's id, which may differ from its key in the agent's tools.
  const byId = options.naming;
  const naming: Naming | undefined = byId && ((_, ...call) => byId(tool.id ?? name, ...call));
  const own = ownTool(name, tool, { ...options, ...json.compact({ policy, naming }) });
  const shown = { ...tool, parameters: jsonSchema(await own.shownSchema) };
  if (isClients) {
    run.clientTools.set(name, own);
    return shown;
  }
  const wrapped = mastraTool(own, tool, run);
  const decides = own.mayRequireApproval || typeof run.requiresApproval === "function";
  const toModelOutput = modelOutput(own.tool);
  const { outputSchema: _outputSchema, onOutput: _onOutput, ...rest } = shown;
  return {
    ...rest,
    ...(decides && { requireApproval: true, needsApprovalFn: wrapped.needsApproval }),
    onInputAvailable: wrapped.announce,
    execute: wrapped.execute,
    ...(toModelOutput && {
      toModelOutput: (output: unknown) =>
        toModelOutput({ toolCallId: "", input: undefined, output } as never),
    }),
  };
}

/**
 * The tool for the pipeline. Its schema validates and changes nothing: `execute` of Mastra's tool parses the
 * input, with defaults and transforms.
 */
function ownTool(name: string, tool: CoreTool, options: wraps.WrapOptions): OwnTool {
  const { description, parameters, execute, needsApprovalFn, requireApproval } = tool;
  const { onInputAvailable, toModelOutput } = tool;
  const isDecided = needsApprovalFn !== undefined || requireApproval === true;
  const needsApproval = async (input: unknown, { context }: { context: Context }) =>
    needsApprovalFn === undefined ||
    Boolean(await needsApprovalFn(input, context.approval ?? approvalContext(context.options)));
  return new OwnTool(
    name,
    {
      description,
      inputSchema: jsonSchema(parameters.jsonSchema as JSONSchema7, {
        validate: (value) => validated(parameters, value),
      }),
      // A client's tool is prepared here, and runs elsewhere.
      execute: execute === undefined ? () => undefined : executing(name, tool),
      ...(isDecided && { needsApproval }),
      ...json.compact({ onInputAvailable }),
      ...(toModelOutput && {
        toModelOutput: ({ output }: { output: unknown }) => toModelOutput(output),
      }),
    } as unknown as wraps.AnyTool,
    options,
  );
}

async function validated({ validate }: CoreTool["parameters"], value: unknown) {
  const result = await validate?.(value);
  if (!json.isObject(result) || result.success !== false) return { success: true as const, value };
  const { error } = result;
  // The pipeline reads a list of issues; see `tool-input.ts`.
  const issues = error instanceof Error ? [{ path: [], message: error.message }] : [];
  return { success: false as const, error: issues as unknown as Error };
}

function executing(name: string, tool: CoreTool) {
  return async (input: object, given: { abortSignal: AbortSignal; context: Context }) => {
    const { abortSignal, context } = given;
    const { options, added, outcome = {} } = context;
    const { toolCallId = "" } = options ?? {};
    let output: unknown;
    try {
      output = await tool.execute?.({ ...input, ...added }, { ...options, abortSignal });
    } catch (error) {
      // Mastra's loop handles it.
      if (error instanceof Error && error.name === "FGADeniedError") outcome.thrown = { error };
      throw error;
    }
    if (outcome.isSuspended) {
      outcome.returned = output;
      throw new Error();
    }
    if (isRefusal(output)) throw new Error(`${name} refused its input or its result.`);
    await tool.onOutput?.({ toolCallId, toolName: name, output, abortSignal });
    return output;
  };
}

/** True for Mastra's `ValidationError`, which quotes the refused value. */
function isRefusal(output: unknown): boolean {
  return json.isObject(output) && output.error === true && "validationErrors" in output;
}

function approvalContext({ requestContext, workspace }: ToolOptions = {}): ApprovalContext {
  const entries = [...(requestContext?.entries() ?? [])].filter(
    ([key]) => !key.startsWith("__mastra_"),
  );
  return { requestContext: Object.fromEntries(entries), workspace };
}

function mastraTool(own: OwnTool, tool: CoreTool, run: Run) {
  /** Called by Mastra before each call. A call that cannot run fails without a question. */
  const needsApproval = async (input: unknown, approval?: ApprovalContext): Promise<boolean> => {
    const { written } = split(input);
    const prepared = await own.prepare(written, callOf({}, json.compact({ approval })));
    if (prepared.kind === "failed") return false;
    if (prepared.approval !== undefined) return true;
    // A tool's own function comes before the option of the call.
    if (tool.needsApprovalFn !== undefined) return false;
    const { requiresApproval = false } = run;
    if (typeof requiresApproval === "boolean") return requiresApproval;
    const call = { ...approval, toolName: own.name, args: prepared.input };
    // Mastra requires approval if it throws.
    return Boolean(await requiresApproval(call));
  };

  /** Called by Mastra before the approval of a call, and again before a call that it resumes. */
  const announce = async ({ toolCallId, input }: Announced): Promise<void> => {
    const mayWait = own.mayRequireApproval || run.requiresApproval !== undefined;
    if (!mayWait) return;
    const { written } = split(input);
    run.ask(toolCallId, await askedFor(written, callOf({ toolCallId }, {})));
  };

  const execute = async (input: unknown, options: ToolOptions): Promise<unknown> => {
    const outcome: Outcome = {};
    const { written, added } = split(input);
    const decision = run.takeDecision(options.toolCallId ?? "");
    const { changed } = decision ?? {};
    const given = changed?.input ?? written;
    const suspend = suspending({ written: given, changed }, options, outcome);
    const context = { options: { ...options, ...json.compact({ suspend }) }, added, outcome };
    const call = callOf(options, context);
    const skipApproval = decision && (async () => false);
    const prepared = await own.prepare(given, call, skipApproval);
    try {
      return withChange(await outputOf(permitted(prepared, decision)), decision);
    } catch (error) {
      if (outcome.thrown !== undefined) throw outcome.thrown.error;
      if (outcome.isSuspended) return outcome.returned;
      throw error;
    }
  };

  /** A call that waited in another process may run if it has no references: it is what a person saw. */
  function permitted(prepared: wraps.Prepared, decision: Decision | undefined): wraps.Prepared {
    const { isForeign } = run;
    const isLiteral = prepared.kind === "ready" && prepared.references.authoredChars === 0;
    if (decision === undefined && isForeign && isLiteral) return prepared;
    const { name } = own;
    const wasApproved = decision !== undefined;
    return ifDecided(prepared, decision, { name, wasApproved, isDecided: isForeign });
  }

  /** Returns the tool's `suspend`, which first stores what the call ran with. */
  function suspending(
    { written, changed }: { readonly written: unknown } & Pick<Decision, "changed">,
    options: ToolOptions,
    outcome: Outcome,
  ): ToolOptions["suspend"] {
    const { suspend } = options;
    if (suspend === undefined) return undefined;
    return async (...parameters) => {
      const call = callOf(options, {});
      // It has begun: what it continues with is what it began with.
      const asked = await askedFor(written, call);
      run.ask(call.toolCallId, { ...asked, waits: undefined, changed });
      outcome.isSuspended = true;
      try {
        return await suspend(...parameters);
      } catch (error) {
        outcome.thrown = { error };
        throw error;
      }
    };
  }

  async function askedFor(written: unknown, call: Call): Promise<Asked> {
    const prepare = (given: unknown) => own.prepare(given, call, async () => true);
    const prepared = await prepare(written);
    const input = prepared.kind === "ready" ? prepared.approval?.input : undefined;
    return {
      shown: input && parsed(input),
      pin: pinOf(prepared),
      requiresApproval: true,
      isOverride: true,
      waits: { input: written, prepare },
    };
  }

  function split(input: unknown): { readonly written: object; readonly added: object } {
    const keys = own.name.startsWith("agent-") ? [...OWN_KEYS, ...AGENT_KEYS] : OWN_KEYS;
    const entries = Object.entries(input ?? {});
    return {
      written: Object.fromEntries(entries.filter(([key]) => !keys.includes(key))),
      added: Object.fromEntries(entries.filter(([key]) => keys.includes(key))),
    };
  }

  return { needsApproval, announce, execute };
}

/** The whole input if its text is not shortened, else the text. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return { input };
  }
}

function callOf({ toolCallId, messages, abortSignal }: ToolOptions, context: Context): Call {
  return {
    toolCallId: toolCallId ?? "",
    messages: messages ?? [],
    ...json.compact({ abortSignal }),
    context,
  } as Call;
}
