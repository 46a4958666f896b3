import { jsonSchema, type JSONSchema7 } from "ai";
import { type Decision, ifDecided, withChange } from "../agent/approvals.ts";
import { type Call, OwnTool, type PinnedCall } from "../agent/own-tool.ts";
import { modelOutput, outputOf } from "../agent/wrap-tools.ts";
import type { AnyTool, Prepared, WrapOptions } from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { Naming } from "../../../../src/runtime.ts";
import { type Asked, type Run, clientPolicy } from "./run.ts";
import type { Announced, ApprovalContext, CoreTool, ToolOptions } from "./mastra-agent.ts";

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
  { run, options }: { readonly run: Run; readonly options: WrapOptions },
): Promise<CoreTool> {
  // A tool that the provider defines has its schema there, and is executed there.
  if ((tool.type ?? "function") !== "function") return tool;
  const isClients = tool.execute === undefined;
  const policy = isClients ? clientPolicy(options.policy) : options.policy;
  // An application names results by the tool's id, which may differ from its key in the agent's tools.
  const { naming: given } = options;
  const naming: Naming | undefined = given && ((_, ...call) => given(tool.id ?? name, ...call));
  const own = ownTool(name, tool, { ...options, ...json.compact({ policy, naming }) });
  const shown = { ...tool, parameters: jsonSchema(await own.shownSchema) };
  if (isClients) {
    run.clientTools.set(name, own);
    return shown;
  }
  const wrapped = new MastraTool(own, tool, run);
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
function ownTool(name: string, tool: CoreTool, options: WrapOptions): OwnTool {
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
    } as unknown as AnyTool,
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
      if (isDenial(error)) outcome.thrown = { error };
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

function isDenial(error: unknown): boolean {
  return error instanceof Error && error.name === "FGADeniedError";
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

/** A tool of a run, as Mastra's loop calls it. */
class MastraTool {
  readonly #own: OwnTool;
  readonly #tool: CoreTool;
  readonly #run: Run;

  constructor(own: OwnTool, tool: CoreTool, run: Run) {
    this.#own = own;
    this.#tool = tool;
    this.#run = run;
  }

  /** Called by Mastra before each call. A call that cannot run fails without a question. */
  readonly needsApproval = async (input: unknown, approval?: ApprovalContext): Promise<boolean> => {
    const { written } = this.#split(input);
    const { prepared } = await this.#own.prepare(written, callOf({}, json.compact({ approval })));
    if (prepared.kind === "failed") return false;
    if (prepared.approval !== undefined) return true;
    // A tool's own function comes before the option of the call.
    if (this.#tool.needsApprovalFn !== undefined) return false;
    const { requiresApproval = false } = this.#run;
    if (typeof requiresApproval === "boolean") return requiresApproval;
    const call = { ...approval, toolName: this.#own.name, args: prepared.input };
    // Mastra requires approval if it throws.
    return Boolean(await requiresApproval(call));
  };

  /** Called by Mastra before the approval of a call, and again before a call that it resumes. */
  readonly announce = async ({ toolCallId, input }: Announced): Promise<void> => {
    const mayWait = this.#own.mayRequireApproval || this.#run.requiresApproval !== undefined;
    if (!mayWait) return;
    const { written } = this.#split(input);
    this.#run.ask(toolCallId, await this.#asked(written, callOf({ toolCallId }, {})));
  };

  readonly execute = async (input: unknown, options: ToolOptions): Promise<unknown> => {
    const outcome: Outcome = {};
    const { written, added } = this.#split(input);
    const decision = this.#run.takeDecision(options.toolCallId ?? "");
    const { changed } = decision ?? {};
    const given = changed?.input ?? written;
    const suspend = this.#suspending({ written: given, changed }, options, outcome);
    const context = { options: { ...options, ...json.compact({ suspend }) }, added, outcome };
    const call = callOf(options, context);
    const skipApproval = decision && (async () => false);
    const pinned = await this.#own.prepare(given, call, skipApproval);
    try {
      return withChange(await outputOf(this.#permitted(pinned, decision)), decision);
    } catch (error) {
      if (outcome.thrown !== undefined) throw outcome.thrown.error;
      if (outcome.isSuspended) return outcome.returned;
      throw error;
    }
  };

  /** A call that waited in another process may run if it has no references: it is what a person saw. */
  #permitted(pinned: PinnedCall, decision: Decision | undefined): Prepared {
    const { prepared } = pinned;
    const { isForeign } = this.#run;
    const isLiteral = prepared.kind === "ready" && prepared.references.authoredChars === 0;
    if (decision === undefined && isForeign && isLiteral) return prepared;
    const { name } = this.#own;
    const wasApproved = decision !== undefined;
    return ifDecided(pinned, decision, { name, wasApproved, isDecided: isForeign });
  }

  /** Returns the tool's `suspend`, which first stores what the call ran with. */
  #suspending(
    { written, changed }: { readonly written: unknown } & Pick<Decision, "changed">,
    options: ToolOptions,
    outcome: Outcome,
  ): ToolOptions["suspend"] {
    const { suspend } = options;
    if (suspend === undefined) return undefined;
    return async (...parameters) => {
      const call = callOf(options, {});
      // It has begun: what it continues with is what it began with.
      const asked = await this.#asked(written, call);
      this.#run.ask(call.toolCallId, { ...asked, waits: undefined, changed });
      outcome.isSuspended = true;
      try {
        return await suspend(...parameters);
      } catch (error) {
        outcome.thrown = { error };
        throw error;
      }
    };
  }

  async #asked(written: unknown, call: Call): Promise<Asked> {
    const prepare = (given: unknown) => this.#own.prepare(given, call, async () => true);
    const { prepared, pin } = await prepare(written);
    const input = prepared.kind === "ready" ? prepared.approval?.input : undefined;
    const waits = { input: written, prepare };
    return { shown: input && parsed(input), pin, requiresApproval: true, isOverride: true, waits };
  }

  #split(input: unknown): { readonly written: object; readonly added: object } {
    const keys = this.#own.name.startsWith("agent-") ? [...OWN_KEYS, ...AGENT_KEYS] : OWN_KEYS;
    const entries = Object.entries(input ?? {});
    return {
      written: Object.fromEntries(entries.filter(([key]) => !keys.includes(key))),
      added: Object.fromEntries(entries.filter(([key]) => keys.includes(key))),
    };
  }
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
