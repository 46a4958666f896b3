import { type Call, type OwnTool, Taints, evictDue } from "../agent/own-tool.ts";
import { changeIn, type Decision } from "../agent/approvals.ts";
import type { CallOptions, Chunk, ToolsFor } from "./mastra-agent.ts";
import {
  type JsonObject,
  MemoryStore,
  Recent,
  type VariableStore,
  json,
} from "../../../../src/internal.ts";
import { ApprovalLedger, type WrapOptions } from "../../../../src/internal-tool.ts";
import type { ModelMessage } from "ai";
import { withAnswerParts } from "../agent/expand-answer.ts";
import { type Policy, allOf } from "../../../../src/runtime.ts";

/** A call that waits for a person's approval, or that its tool has suspended. */
export interface Asked extends Decision {
  /** The resolved input, for users. Undefined if the call could not run. */
  readonly shown: unknown;
}

/**
 * A run of an agent: from a question to an answer, with everything that it waits for. It is resumed under the
 * same id.
 */
export class Run {
  readonly id: string;
  /** The tools that the client executes, by name. */
  readonly clientTools = new Map<string, OwnTool>();
  /** Decides about calls of tools that do not decide for themselves. */
  requiresApproval: CallOptions["requireToolApproval"];
  /**
   * True until the run's model is called here. A call of a tool before that was made in another process, and
   * waited.
   */
  isForeign = true;
  knownStore: VariableStore | undefined;
  #memory: readonly (string | undefined)[] | undefined;
  #part = 0;
  readonly #ledger = new ApprovalLedger<Asked & { readonly part: number }>();

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

  /** See `changeInput`. */
  change(toolCallId: string, input: JsonObject): Promise<string> {
    return changeIn(this.#ledger, toolCallId, input);
  }

  /** The shown input of a waiting call. */
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

/** The runs that have not ended, and what they share. A run that is forgotten is resumed as a foreign one. */
export class Runs {
  readonly #options: Omit<WrapOptions, "store">;
  readonly #taints = new Taints();
  readonly #runs = new Recent<Run>();

  constructor(options: Omit<WrapOptions, "store">) {
    this.#options = options;
  }

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

  /** The options of the pipeline for a run's calls. */
  wrapOptions({ store }: Run): WrapOptions {
    return { taint: this.#taints.of(store), ...this.#options, store };
  }
}

/** The run that needs a store. The ids of its memory are those that Mastra has checked. */
export interface StoredRun {
  readonly runId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
}

/** Finds the store of a run. */
export type StoreForRun = (run: StoredRun) => VariableStore;

/** Key in the `RequestContext` for the store of a call. */
export const STORE_KEY = "byref.store";

/** The stores of an agent's runs: given ones, else one for each memory thread, else one for each run. */
export class Stores {
  readonly #given: VariableStore | StoreForRun | undefined;
  readonly #threads = new Recent<VariableStore>();

  constructor(given: VariableStore | StoreForRun | undefined) {
    this.#given = given;
  }

  /** Opens the store of a run. */
  async open(run: Run, given: ToolsFor): Promise<VariableStore> {
    const store = this.#find(run, given);
    await evictDue(store);
    return store;
  }

  #find({ id, knownStore }: Run, given: ToolsFor): VariableStore {
    const { threadId, resourceId, requestContext } = given;
    const own: unknown = requestContext.get(STORE_KEY);
    if (isStore(own)) return own;
    // A request context that was stored while its run waited has lost the store.
    if (own !== undefined && knownStore === undefined) {
      throw new TypeError(`"${STORE_KEY}" in the request context is not a VariableStore.`);
    }
    if (typeof this.#given === "object") return this.#given;
    if (this.#given !== undefined) {
      return this.#given({ runId: id, ...json.compact({ threadId, resourceId }) });
    }
    if (knownStore !== undefined) return knownStore;
    const make = () => new MemoryStore();
    return threadId === undefined
      ? make()
      : this.#threads.use(JSON.stringify([resourceId, threadId]), make);
  }
}

/** A client may set values of the request context, but no functions. */
function isStore(value: unknown): value is VariableStore {
  return json.isObject(value) && typeof value.evictDue === "function";
}

/** A client's tool must not receive guarded values, because the model receives its result unchanged. */
const noGuarded: Policy = ({ tool, references }) => {
  const guarded = references.find(({ visibility }) => visibility !== "model");
  if (guarded === undefined) return "allow";
  return { deny: `${tool} runs at the client, which may not receive $${guarded.name}.` };
};

/** Returns the policy of a tool that the client executes. */
export function clientPolicy(own: Policy | undefined): Policy {
  return own === undefined ? noGuarded : allOf(own, noGuarded);
}

/**
 * Calls that the client executes. It receives the resolved input, and sends it back with its result: the
 * model is shown what it wrote. The oldest are forgotten.
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
    const { prepared } = await tool.prepare(args, call as unknown as Call);
    if (prepared.kind === "ready" && prepared.approval === undefined) {
      this.#written.set(call.toolCallId, { input: args });
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
      part.type === "tool-call" ? { ...part, ...this.#written.get(part.toolCallId) } : part,
    );
  }
}
