import { ByrefError, codeOf, messageOf, publicTextOf, requireAtMost } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import type { NamedText, Sandbox, SandboxAnswer, SandboxRun } from "./sandbox.ts";
import {
  lookupInStore,
  UrlSources,
  type wraps,
  type runtimeTools,
} from "../../../src/internal-tool.ts";
import {
  dollar,
  json,
  type Labels,
  LookupWork,
  targets,
  Work,
  referenceTexts,
  referenceProblems,
  type stores,
} from "../../../src/internal.ts";
import type { Json, Reference } from "../../../src/references.ts";

export interface CodeRunOptions {
  readonly sandbox: Sandbox;
  readonly tools: ReadonlyMap<string, wraps.WrappedTool>;
  /** Called before each tool call. */
  readonly onCall: (() => void | Promise<void>) | undefined;
  readonly context: runtimeTools.RuntimeToolContext;
  readonly timeMs: number;
}

/** One run of code: its access to tools and to parts of large values, until the run ends. */
export class CodeRun {
  readonly #options: CodeRunOptions;
  readonly #names: ReadonlySet<string>;
  /** The values that the code received. Beyond `maxCodeCrossingChars`, further values are not recorded. */
  readonly sources = new UrlSources();
  readonly #reads = new Work({ bound: "maxRunReadWork" });
  #receivedChars = 0;
  #calls = 0;
  #isOver = false;

  constructor(options: CodeRunOptions, names: readonly string[]) {
    this.#options = options;
    this.#names = new Set(names);
  }

  /** Never rejects: a failure of the sandbox is returned as an error. */
  async run(code: string, inputs: CodeInputs): Promise<SandboxRun> {
    const { sandbox, context, timeMs } = this.#options;
    for (const [, text] of inputs.values) this.sources.add(() => json.parsedJson(text));
    try {
      return await sandbox.run({
        code,
        ...inputs,
        timeMs,
        signal: context.call.signal,
        call: (tool, input) => answerFrom(() => this.#recorded(this.#call(tool, input))),
        read: (name, path) => answerFrom(() => this.#recorded(this.#read(name, path))),
      });
    } catch (error) {
      return { assigned: [], console: "", error: { kind: "thrown", message: messageOf(error) } };
    } finally {
      this.#isOver = true;
    }
  }

  async #recorded(pending: Promise<string>): Promise<string> {
    const text = await pending;
    this.#receivedChars += text.length;
    if (this.#receivedChars <= limits.maxCodeCrossingChars)
      this.sources.add(() => json.parsedJson(text));
    return text;
  }

  /** The path has the syntax that follows a name in a reference. Throws the errors of a reference. */
  async #read(name: string, path: string): Promise<string> {
    this.#requireOpen();
    const { store, labels } = this.#options.context;
    if (!this.#names.has(name)) {
      throw new ByrefError("variable_not_found", `${name} is not among this call's variables.`);
    }
    const { reference } = referenceTexts.wholeReference(`$${name}${path}`, [dollar]) ?? {};
    if (reference?.name !== name) {
      throw new ByrefError("bad_path", "A path is written as after a name: [0].total, [10:20].");
    }
    // All reads of a run share a total.
    const work = new LookupWork({ whole: this.#reads });
    const text = await readText(store, reference, { labels, work });
    work.spend(text.length);
    requireAtMost("maxCodeCrossingChars", text.length, "Read smaller parts of it.");
    return text;
  }

  async #call(name: string, inputText: string): Promise<string> {
    const { context } = this.#options;
    const tool = this.#toolNamed(name);
    const input = inputFrom(name, inputText);
    if (await this.sources.hasUnknownUrl(input)) context.labels.compose();
    // Code that runs again may make other calls, so an idempotency key of its calls would mean nothing. The
    // place of the whole result is not a place for the result of one call.
    const { idempotencyKey: _key, saveTo: _place, keepAs: _keep, ...call } = context.call;
    const toolCallId = `${call.toolCallId}/${this.#calls}`;
    const options: wraps.CallOptions = { ...call, toolCallId, madeOf: context.labels };
    const prepared = await tool.prepare(input, options);
    if (prepared.kind === "failed") throw new ByrefError(prepared.code, prepared.message);
    if (prepared.approval !== undefined) {
      const why = `${name} needs a person's approval (${prepared.approval.reason})`;
      throw new ByrefError("tool_failed", `${why}: call it directly, not from code.`);
    }
    this.#requireOpen();
    this.#requireUnguarded(name);
    await this.#options.onCall?.();
    this.#requireOpen();
    const run = await prepared.run();
    if (run.kind === "failed") throw new ByrefError(run.code, run.message);
    this.#requireOpen();
    const { info } = await run.save();
    if (info === undefined) {
      throw new ByrefError("limit_exceeded", `The result of ${name} was too large to be kept.`);
    }
    return this.#resultOf(name, info.name);
  }

  #toolNamed(name: string): wraps.WrappedTool {
    const { tools } = this.#options;
    this.#requireOpen();
    this.#requireUnguarded(name);
    if (name === "run_code") throw new ByrefError("unknown_tool", "Code cannot run code.");
    const tool = tools.get(name);
    if (tool === undefined) {
      const known = [...tools.keys()].filter((other) => other !== "run_code").join(", ");
      throw new ByrefError("unknown_tool", `There is no tool ${name}. There are: ${known}.`);
    }
    requireAtMost("maxBatchItems", ++this.#calls, "Call tools less often in one run.");
    return tool;
  }

  async #resultOf(tool: string, name: string): Promise<string> {
    const { store, labels } = this.#options.context;
    if (store.glance(name)?.visibility === "secret") {
      throw new ByrefError(
        "variable_secret",
        `The result of ${tool} is secret: it is kept as ${name}.`,
      );
    }
    labels.add(name);
    const text = JSON.stringify((await store.read(name)) ?? null);
    requireAtMost("maxCodeCrossingChars", text.length, `It is kept as ${name}.`);
    return text;
  }

  #requireOpen(): void {
    if (this.#isOver) throw new ByrefError("tool_failed", "The run is over.");
    if (this.#options.context.call.signal.aborted) {
      throw new ByrefError("tool_failed", "The run was stopped.");
    }
  }

  /**
   * Refuses tool calls if the code received guarded values: it could write them as the name of a variable, which
   * the model sees.
   */
  #requireUnguarded(name: string): void {
    if (!this.#options.context.labels.isGuarded) return;
    const why = "the code was given sealed values";
    throw new ByrefError("tool_failed", `${name} cannot be called: ${why}.`);
  }
}

function inputFrom(name: string, text: string): Json {
  try {
    const input = parseResult(text);
    if (json.isObject(input)) return input;
  } catch (error) {
    if (codeOf(error) !== "internal") throw error;
  }
  throw new ByrefError("invalid_tool_input", `${name} takes one object.`);
}

async function answerFrom(work: () => Promise<string>): Promise<SandboxAnswer> {
  try {
    return { text: await work() };
  } catch (error) {
    return { error: publicTextOf(error) };
  }
}

/** The variables, or parts of them, that code is given, by their names in code. */
type CodeTargets = ReadonlyMap<string, targets.Target>;

interface CodeInputs {
  readonly values: readonly NamedText[];
  readonly large: readonly NamedText[];
}

/**
 * Reads the named variables for the sandbox. Throws `variable_not_found`, `variable_evicted`, `variable_secret`,
 * `bad_name` for a name that cannot be an identifier in code, the errors of reading, and `limit_exceeded`.
 */
export async function readInputs(
  { store, labels }: Pick<runtimeTools.RuntimeToolContext, "store" | "labels">,
  variables: CodeTargets,
): Promise<CodeInputs> {
  const values: NamedText[] = [];
  const large: NamedText[] = [];
  let chars = 0;
  for (const [name, target] of variables) {
    if (RESERVED_NAMES.has(name))
      throw new ByrefError(
        "bad_name",
        `"${name}" means something else in code; copy it to another name.`,
      );
    const { type, count, bytes } = targets.usable(store, target.name);
    if (target.path.length === 0 && bytes > limits.maxWholeCodeBytes) {
      if (type === "bytes")
        throw new ByrefError("bad_value", `$${name} is bytes; code is given JSON and text only.`);
      large.push([name, JSON.stringify({ type, count, bytes })]);
      continue;
    }
    const text = await readText(store, target, { labels });
    chars += text.length;
    const advice = "Name fewer variables, or the large ones in another call.";
    requireAtMost("maxCodeCrossingChars", chars, advice);
    values.push([name, text]);
  }
  return { values, large };
}

/** Adds the labels of the version that is read. */
async function readText(
  store: stores.Variables,
  reference: Reference,
  { labels, work }: { readonly labels: Labels; readonly work?: LookupWork },
): Promise<string> {
  const lookup = lookupInStore(store, { onUsed: (name) => labels.add(name) });
  const found = await lookup(reference, work);
  if (!found.found) throw referenceProblems.problemFrom(`$${reference.name}`, found);
  return JSON.stringify(found.value);
}

/** Reserved words, and names that the sandbox defines. */
const RESERVED_NAMES = new Set(
  (
    "arguments async await break case catch class const continue debugger default delete do else " +
    "enum eval export extends false finally for function if implements import in instanceof " +
    "interface let new null package private protected public return static super switch this " +
    "throw true try typeof undefined var void while with yield tools vars console"
  ).split(" "),
);

/**
 * Parses JSON from the sandbox. Arrays and objects are counted before the parse, because JSON text can
 * describe more of them than memory can hold.
 */
export function parseResult(text: string): Json {
  let containers = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) isInString = !isInString;
    else if (code === BACKSLASH) index++;
    else if (!isInString && (code === BRACKET || code === BRACE)) containers++;
  }
  requireAtMost("maxContainers", containers, "Return flatter data, or text.");
  return json.parsedJson(text);
}

const QUOTE = 34;
const BACKSLASH = 92;
const BRACKET = 91;
const BRACE = 123;
