import type { FinishReason, LanguageModel, UIMessageChunk } from "ai";
import type { ErrorCode } from "../errors.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Observer } from "../tool/observer.ts";
import type { Agent } from "./agent.ts";
import type { Cost } from "./spend/cost.ts";
import type { History } from "./history/history.ts";
import type { Journal } from "./log/journal.ts";
import type { LeaseOffice } from "./spend/lease-office.ts";
import type { Post } from "./history/post.ts";
import type { SpendLimits } from "./spend/spend.ts";
import type { Savings } from "./spend/savings.ts";
import type { CallModelOptions } from "./model/model-call-options.ts";
import type { Facilities } from "./toolbox.ts";
import type { TurnLog } from "./log/turn-log.ts";
import type { Usage } from "./spend/usage.ts";

/** What a turn is run with. */
export interface TurnOptions {
  readonly agent: Agent;
  readonly model: LanguageModel;
  readonly store: VariableStore;
  readonly history: History;
  /** Where the turn is written down while it runs; in the same SQLite as the history. */
  readonly journal: Journal;
  /** Gets the chunks as the client sees them. */
  readonly log: TurnLog;
  /** The conversation's id, as its routes have it. */
  readonly conversation: string;
  /** The prefix of tools' idempotency keys, unique to the conversation across all tenants. */
  readonly keyPrefix: string;
  /** The trace that all attempts at the turn belong to. */
  readonly trace?: string | undefined;
  /** What has led to the turn, to be known again. */
  readonly post?: Post;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Takes out what nobody may be told, such as the model's key. Default: nothing is. */
  readonly redact?: (text: string) => string;
  /** Stops the turn: no further model call or tool. What was said so far is kept. */
  readonly signal: AbortSignal;
  /** What the turn has cost so far. */
  readonly cost: () => Cost;
  /** What the runtime's own tools work with. Default: those that need nothing more. */
  readonly facilities?: Facilities;
  readonly spendLimits?: Omit<SpendLimits, "tenant">;
  /** What the tenant may spend. Default: no limit. */
  readonly leases?: LeaseOffice | undefined;
  /** Waits before a model is called again. Default: a timer. */
  readonly sleep?: CallModelOptions["sleep"];
  /** Receives each chunk that the log gets, too. Must not throw. */
  readonly emit?: (chunk: UIMessageChunk) => void;
  /** Told of the calls of models and tools. */
  readonly observer?: Observer | undefined;
  /** Told of the end once it is written down. Must not throw. */
  readonly onEnd?: (end: TurnEnd) => void;
}

/** What a turn, or a run of a plan, has come to: codes and counts. */
export interface TurnEnd {
  readonly status: "done" | "failed" | "stopped" | "waiting";
  /** If it failed: why. */
  readonly code?: ErrorCode;
  readonly finishReason?: FinishReason;
  readonly usage: Usage;
  readonly savings: Savings;
  readonly cost: Cost;
}
