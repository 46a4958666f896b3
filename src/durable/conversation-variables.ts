import type { PrepareStepFunction, Tool, ToolSet } from "ai";
import { asWritten } from "../agent/expand-answer.ts";
import { expandResponse } from "../agent/expand-response.ts";
import { type InstructionStyle, listingVariables } from "../agent/step-prompt.ts";
import { summaryOf, type SummaryOptions } from "../agent/summary-of.ts";
import { type VariableToolName, variableTools } from "../agent/variable-tools.ts";
import { type WithVariables, wrapTools } from "../agent/wrap-tools.ts";
import { DurableSql } from "../edge/platform/durable-sql.ts";
import { R2Blobs } from "../edge/platform/r2-blobs.ts";
import { Taint } from "../store/labels.ts";
import { migrate } from "../store/rows/migrations.ts";
import { SqlStore } from "../store/sql-store.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { WrapOptions } from "../tool/wrapped-tool.ts";
import { compact, type Json } from "../value/json.ts";
import { PrefixedSql } from "./prefixed-sql.ts";

/** The state of a Durable Object with SQLite, as its constructor receives it. */
export type ObjectState = Pick<DurableObjectState, "id" | "storage">;

export interface ConversationVariablesOptions extends Omit<WrapOptions, "store" | "taint"> {
  /** For values over 8 MiB, and bytes over 64 KiB. Default: all values are rows of the object. */
  readonly bucket?: R2Bucket;
  /**
   * Who uses the object's one alarm. `shared`: the object does, and calls `sweep` at `nextAlarm`. `own`: the
   * variables do, and the object's `alarm()` calls `sweep`. Default: `shared`.
   */
  readonly alarm?: "own" | "shared";
  /** Size of all values together, in bytes. Default: `maxConversationBytes`. */
  readonly quotaBytes?: number;
  /** Time after which an unused variable is evicted, in milliseconds. Default: `variableIdleMs`. */
  readonly idleMs?: number;
  /** Length of the guide to references. Default: as `listingVariables`. */
  readonly instructionStyle?: InstructionStyle;
}

/** A `prepareStep` for tools and contexts of any type. */
export type PrepareAnyStep = <Tools extends ToolSet, Context extends Record<string, unknown>>(
  ...step: Parameters<PrepareStepFunction<Tools, Context>>
) => ReturnType<PrepareStepFunction<Tools, Context>>;

/** The variables of one conversation in any Durable Object, with what its agent needs to use them. */
export interface ConversationVariables {
  /** The tables are created at the first use. */
  readonly store: VariableStore;
  /** Wraps an agent's tools: inputs take references, results are saved. */
  wrap<Tools extends ToolSet>(tools: Tools): WithVariables<Tools>;
  /** The tools with which a model looks into variables. */
  tools<Name extends VariableToolName = VariableToolName>(options?: {
    readonly only?: readonly Name[];
  }): Record<Name, Tool<Json, Json>>;
  /** For `streamText` and `generateText`: lists the variables, and shows earlier answers as they were written. */
  readonly prepareStep: PrepareAnyStep;
  /** Replaces the references in a response of `toUIMessageStreamResponse` by their values. */
  expand(response: Response): Response;
  /** Summarizes the variables as Markdown for a prompt. */
  summary(options?: SummaryOptions): string;
  /** When `sweep` is due, in milliseconds since 1970; undefined if nothing is. */
  nextAlarm(): number | undefined;
  /** Evicts what is due and removes bytes that belong to no variable. May be called at any time. */
  sweep(): Promise<void>;
}

/**
 * Creates the variables of a conversation in a Durable Object that has tables, an alarm and a protocol of its
 * own. All tables have the prefix `byref_`; nothing else of the object is touched. Call it once for each
 * object, for example in a field of its class.
 */
export function conversationVariables(
  state: ObjectState,
  options: ConversationVariablesOptions = {},
): ConversationVariables {
  return new VariablesInObject(state, options);
}

class VariablesInObject implements ConversationVariables {
  readonly #state: ObjectState;
  readonly #options: ConversationVariablesOptions;
  readonly #taint = new Taint();
  readonly #prepareStep: PrepareAnyStep;
  #store: SqlStore | undefined;

  constructor(state: ObjectState, options: ConversationVariablesOptions) {
    this.#state = state;
    this.#options = options;
    let listing: PrepareStepFunction<ToolSet> | undefined;
    const prepare: PrepareStepFunction<ToolSet> = async (step) => {
      listing ??= listingVariables({ ...this.#wrapOptions, ...styleOf(options) });
      return listing({ ...step, messages: asWritten(step.messages) });
    };
    // Only messages and instructions are read and changed, whose types do not depend on the tools.
    this.#prepareStep = prepare as unknown as PrepareAnyStep;
  }

  get store(): VariableStore {
    this.#store ??= this.#opened();
    return this.#store;
  }

  get prepareStep(): PrepareAnyStep {
    return this.#prepareStep;
  }

  wrap<Tools extends ToolSet>(tools: Tools): WithVariables<Tools> {
    return wrapTools(tools, this.#wrapOptions);
  }

  tools<Name extends VariableToolName = VariableToolName>(
    options: { readonly only?: readonly Name[] } = {},
  ): Record<Name, Tool<Json, Json>> {
    return variableTools<Name>({ ...this.#wrapOptions, ...options });
  }

  expand(response: Response): Response {
    const { syntaxes } = this.#options;
    return expandResponse(response, this.store, compact({ syntaxes }));
  }

  summary(options: SummaryOptions = {}): string {
    return summaryOf(this.store, options);
  }

  nextAlarm(): number | undefined {
    // Garbage has no time of its own.
    return this.store.hasGarbage() ? Date.now() : this.store.nextDueMs();
  }

  async sweep(): Promise<void> {
    const { store } = this;
    store.flushAccess();
    let evicted = EVICTIONS;
    while (evicted === EVICTIONS) evicted = store.evictDue(Date.now(), EVICTIONS).length;
    if (store.hasGarbage()) await store.sweep();
    await this.#arm();
  }

  get #wrapOptions(): WrapOptions {
    const { bucket: _, alarm: __, quotaBytes: ___, idleMs: ____, ...rest } = this.#options;
    return { ...rest, store: this.store, taint: this.#taint };
  }

  #opened(): SqlStore {
    const { id, storage } = this.#state;
    const { bucket, quotaBytes, idleMs, alarm } = this.#options;
    const sql = new PrefixedSql(new DurableSql(storage), PREFIX);
    const isNew = migrate(sql);
    const store = new SqlStore(sql, {
      isNew,
      ...compact({ quotaBytes, idleMs }),
      ...(bucket === undefined
        ? {}
        : { bucket: { blobs: new R2Blobs(bucket), prefix: `${PREFIX}${id.toString()}/` } }),
    });
    if (alarm === "own") store.observe(() => void this.#arm());
    return store;
  }

  /** Sets the object's alarm, if it is later than what is due. */
  async #arm(): Promise<void> {
    if (this.#options.alarm !== "own") return;
    const { storage } = this.#state;
    const dueMs = this.nextAlarm();
    const armedMs = (await storage.getAlarm()) ?? Infinity;
    if (dueMs !== undefined && dueMs < armedMs) await storage.setAlarm(dueMs);
  }
}

function styleOf({ instructionStyle }: ConversationVariablesOptions) {
  return compact({ instructionStyle });
}

const PREFIX = "byref_";

/** Evictions in one transaction. */
const EVICTIONS = 500;
