import { ByrefError, codeOf, limitExceeded, messageOf, publicMessageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { LookupWork } from "../../reference/lookup.ts";
import { clip } from "../../value/characters.ts";
import { isObject, type Json, parsedJson } from "../../value/json.ts";
import { workOfRun } from "../../value/work.ts";
import { UrlSources } from "../composed.ts";
import { type CodeInputs, parseResult, readPart } from "./code-inputs.ts";
import { saved } from "../prepared-save.ts";
import type { RuntimeToolContext } from "../runtime-tool.ts";
import type { Sandbox, SandboxAnswer, SandboxRun } from "./sandbox.ts";
import type { CallOptions, WrappedTool } from "../wrapped-tool.ts";

export interface CodeRunOptions {
  readonly sandbox: Sandbox;
  readonly tools: ReadonlyMap<string, WrappedTool>;
  /** Called before a tool is. */
  readonly onCall: (() => void | Promise<void>) | undefined;
  readonly context: RuntimeToolContext;
  readonly timeMs: number;
}

/** One run of code: its way to tools and to parts of large values, open for as long as it runs. */
export class CodeRun {
  readonly #options: CodeRunOptions;
  readonly #names: ReadonlySet<string>;
  /** What the code was given; of very many texts, the first. */
  readonly sources = new UrlSources();
  readonly #reads = workOfRun();
  #givenChars = 0;
  #calls = 0;
  #isOver = false;

  constructor(options: CodeRunOptions, names: readonly string[]) {
    this.#options = options;
    this.#names = new Set(names);
  }

  /** Does not reject: that the sandbox is broken is an error like any other. */
  async run(code: string, inputs: CodeInputs): Promise<SandboxRun> {
    const { sandbox, context, timeMs } = this.#options;
    for (const [, text] of inputs.values) this.sources.add(() => parsedJson(text));
    try {
      return await sandbox.run({
        code,
        ...inputs,
        timeMs,
        signal: context.call.signal,
        call: (tool, input) => answered(() => this.#noted(this.#call(tool, input))),
        read: (name, path) => answered(() => this.#noted(this.#read(name, path))),
      });
    } catch (error) {
      return { assigned: [], console: "", error: { kind: "thrown", message: messageOf(error) } };
    } finally {
      this.#isOver = true;
    }
  }

  async #noted(given: Promise<string>): Promise<string> {
    const text = await given;
    this.#givenChars += text.length;
    if (this.#givenChars <= limits.maxCodeCrossingChars) this.sources.add(() => parsedJson(text));
    return text;
  }

  async #read(name: string, path: string): Promise<string> {
    this.#requireOpen();
    const { context } = this.#options;
    if (!this.#names.has(name)) {
      throw new ByrefError("variable_unknown", `${name} is not among this call's variables.`);
    }
    const work = new LookupWork(1, { whole: this.#reads });
    return readPart({ ...context, work }, name, path);
  }

  async #call(name: string, inputText: string): Promise<string> {
    const { context } = this.#options;
    const tool = this.#toolNamed(name);
    const input = inputFrom(name, inputText);
    if (await this.sources.lack(input)) context.labels.compose();
    // Code that runs again need not call the same: no key of its calls would mean the same. Where the
    // result of all of it goes is no place for a part.
    const { idempotencyKey: _key, saveTo: _place, ...call } = context.call;
    const toolCallId = `${call.toolCallId}/${this.#calls}`;
    const options: CallOptions = { ...call, toolCallId, madeOf: context.labels };
    const prepared = await tool.prepare(input, options);
    if (prepared.kind === "failed") throw new ByrefError(prepared.code, prepared.message);
    if (prepared.approval !== undefined) {
      const why = `${name} needs a person's approval (${prepared.approval.reason})`;
      throw new ByrefError("tool_failed", `${why}: call it directly, not from code.`);
    }
    this.#requireOpen();
    this.#requireHarmless(name);
    await this.#options.onCall?.();
    this.#requireOpen();
    const run = await prepared.run();
    if (run.kind === "failed") throw new ByrefError(run.code, run.message);
    this.#requireOpen();
    const { info } = await saved(run.prepare);
    if (info === undefined) {
      throw new ByrefError("limit_exceeded", `The result of ${name} was too large to be kept.`);
    }
    return this.#resultOf(name, info.name);
  }

  #toolNamed(name: string): WrappedTool {
    const { tools } = this.#options;
    this.#requireOpen();
    this.#requireHarmless(name);
    if (name === "run_code") throw new ByrefError("unknown_tool", "Code cannot run code.");
    const tool = tools.get(name);
    if (tool === undefined) {
      const known = [...tools.keys()].filter((other) => other !== "run_code").join(", ");
      throw new ByrefError("unknown_tool", `There is no tool ${name}. There are: ${known}.`);
    }
    this.#calls++;
    if (this.#calls <= limits.maxCodeCalls) return tool;
    const advice = "Call tools less often in one run.";
    throw limitExceeded("maxCodeCalls", {
      maximum: limits.maxCodeCalls,
      actual: this.#calls,
      advice,
    });
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
    if (text.length <= limits.maxCodeCrossingChars) return text;
    const sizes = { maximum: limits.maxCodeCrossingChars, actual: text.length };
    throw limitExceeded("maxCodeCrossingChars", {
      ...sizes,
      advice: `It is kept as ${name}.`,
    });
  }

  #requireOpen(): void {
    if (this.#isOver) throw new ByrefError("tool_failed", "The run is over.");
    if (this.#options.context.call.signal.aborted) {
      throw new ByrefError("tool_failed", "The run was stopped.");
    }
  }

  /** That a tool is called, and how often, could tell what is guarded. */
  #requireHarmless(name: string): void {
    if (!this.#options.context.labels.isGuarded) return;
    const why = "the code was given sealed values";
    throw new ByrefError("tool_failed", `${name} cannot be called: ${why}.`);
  }
}

function inputFrom(name: string, text: string): Json {
  try {
    const input = parseResult(text);
    if (isObject(input)) return input;
  } catch (error) {
    if (codeOf(error) !== "internal") throw error;
  }
  throw new ByrefError("invalid_tool_input", `${name} takes one object.`);
}

async function answered(work: () => Promise<string>): Promise<SandboxAnswer> {
  try {
    return { text: await work() };
  } catch (error) {
    const message = clip(publicMessageOf(error), limits.maxShownResultChars);
    return { error: `${codeOf(error)}: ${message}` };
  }
}
