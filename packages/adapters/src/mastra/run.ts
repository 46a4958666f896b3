import { Taints } from "../agent/call-store.ts";
import type { Decision } from "../agent/approvals.ts";
import type { OwnTool } from "../agent/own-tool.ts";
import type { CallOptions, ToolsFor } from "./mastra-agent.ts";
import { Recent, type VariableStore } from "../../../../src/internal.ts";
import { ApprovalLedger, type WrapOptions } from "../../../../src/internal-tool.ts";

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
