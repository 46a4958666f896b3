import { type JSONSchema7, type ToolExecutionOptions, asSchema } from "ai";
import {
  type AnyTool,
  type CallOptions,
  type Prepared,
  type WrapOptions,
  type WrappedTool,
  shownSchema,
  toolInputs,
  wrapTool,
} from "../../../../src/internal-tool.ts";
import { Taint, type VariableStore, json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** The options that the SDK passes with a tool call. There is no signal when the SDK evaluates an approval. */
export type Call = ToolExecutionOptions<unknown>;

/** A tool of the AI SDK that runs in this process. */
export class OwnTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
  #wrapped: Promise<WrappedTool> | undefined;

  constructor(name: string, tool: AnyTool, options: WrapOptions) {
    this.name = name;
    this.tool = tool;
    this.options = options;
  }

  /** False for a tool that a provider or the client executes. */
  static runsHere(tool: AnyTool): boolean {
    const isProviderExecuted = tool.type === "provider" && tool.isProviderExecuted;
    return !isProviderExecuted && tool.execute !== undefined;
  }

  /** True if a call of the tool may need a person's approval. */
  get mayRequireApproval(): boolean {
    const { policy, policies } = this.options;
    const requiresApproval = (policies?.[this.name]?.approval ?? false) !== false;
    return this.tool.needsApproval !== undefined || policy !== undefined || requiresApproval;
  }

  /** The wrapped tool. A provider-defined tool that the application executes is wrapped like any other. */
  get wrapped(): Promise<WrappedTool> {
    this.#wrapped ??= this.wrap();
    return this.#wrapped;
  }

  protected wrap(): Promise<WrappedTool> {
    // The same tool without its type.
    return wrapTool(this.name, { ...this.tool, type: undefined } as AnyTool, this.options);
  }

  /**
   * The schema that the model is shown, a promise only if the tool's own is one. A provider-defined tool has
   * its schema at the provider, which receives no other schema.
   */
  get shownSchema(): JSONSchema7 | PromiseLike<JSONSchema7> {
    if (this.tool.type === "provider") return asSchema(this.tool.inputSchema).jsonSchema;
    const schema = toolInputs.jsonSchemaNow(this.tool);
    return schema === undefined ? this.#schemaLater() : this.#shownAs(schema);
  }

  async #schemaLater(): Promise<JSONSchema7> {
    return this.#shownAs(await toolInputs.jsonSchemaOf(this.tool, this.name));
  }

  #shownAs(schema: JSONSchema7): JSONSchema7 {
    return shownSchema(this, schema).schema;
  }

  /**
   * Resolves the references of a call and evaluates the policy, without running the tool. `needsApproval`
   * replaces the tool's own.
   */
  async prepare(
    input: unknown,
    call: Call,
    needsApproval?: CallOptions["needsApproval"],
  ): Promise<PinnedCall> {
    const { toolCallId, messages, abortSignal, context, experimental_sandbox } = call;
    const sandbox = experimental_sandbox === undefined ? {} : { experimental_sandbox };
    const { prepare } = await this.wrapped;
    // The SDK parsed the input from JSON.
    const written = input as Json;
    const prepared = await prepare(written, {
      toolCallId,
      messages,
      signal: abortSignal ?? new AbortController().signal,
      extras: { context, ...sandbox },
      ...json.compact({ needsApproval }),
    });
    if (prepared.kind === "failed") return { prepared, pin: undefined };
    const pin = JSON.stringify([this.name, await toolInputs.digestOf(written), prepared.pin]);
    return { prepared, pin };
  }
}

export interface PinnedCall {
  readonly prepared: Prepared;
  /**
   * Identifies the call: the tool, the input as the model wrote it, and the values of its references.
   * Undefined for a call that cannot run. A client must never see it, because it is a digest of values.
   */
  readonly pin: string | undefined;
}

/** Maximum of evictions per call. The next call evicts the rest. */
const MAX_EVICTIONS = 1_000;

/** Evicts what is due from the store of a call. Without an alarm, that happens at the next call. */
export async function evictDue(store: VariableStore): Promise<void> {
  store.evictDue(Date.now(), MAX_EVICTIONS);
  if (store.hasGarbage()) await store.sweep();
}

/** One taint for each store. It persists: data read once in a conversation stays in its prompts. */
export class Taints {
  readonly #byStore = new WeakMap<VariableStore, Taint>();

  of(store: VariableStore): Taint {
    const taint = this.#byStore.get(store) ?? new Taint();
    this.#byStore.set(store, taint);
    return taint;
  }
}
