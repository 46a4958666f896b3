import type { FinishReason, LanguageModel, UIMessageChunk } from "ai";
import type { ErrorCode } from "../errors.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Observer } from "../tool/observer.ts";
import type { Agent } from "./agent.ts";
import type { History } from "./history/history.ts";
import type { Post } from "./history/post.ts";
import type { Journal } from "./log/journal.ts";
import type { TurnLog } from "./log/turn-log.ts";
import type { QuotaService } from "./spend/lease.ts";
import type { Savings } from "./spend/savings.ts";
import type { Account, Cost, SpendLimits, Usage } from "./spend/spend.ts";
import type { PlatformServices } from "./toolbox.ts";

/**
 * What an attempt at a turn or a plan run works with: its steps, their calls of the model and of tools. An
 * agent that is asked in the middle of it works with a context derived from this one.
 */
export interface TurnContext {
  readonly agent: Agent;
  readonly model: LanguageModel;
  readonly store: VariableStore;
  /** Counts what all of it costs. */
  readonly account: Account;
  readonly log: Pick<TurnLog, "commit" | "note">;
  /** Receives each chunk as the client sees it. */
  readonly emit: (chunk: UIMessageChunk) => void;
  /** Aborts when the turn is stopped or takes too long. What was said so far is kept. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Removes secrets, such as the model's key, from an error's text. Default: changes nothing. */
  readonly redact?: ((text: string) => string) | undefined;
  /** What the runtime's own tools work with. Default: those that need nothing more. */
  readonly services?: PlatformServices;
  /** Waits before a model is called again; resolves early when the signal aborts. Default: a timer. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>;
  /** Is notified of the calls of models and tools. */
  readonly observer?: Observer | undefined;
  /** Agents that wait for this one. Default: 0. */
  readonly depth?: number;
}

/** What a turn or a plan run is started with. */
export interface TurnOptions extends Omit<TurnContext, "account" | "log" | "emit" | "depth"> {
  readonly history: History;
  /** Records the turn while it runs, in the same SQLite as the history. */
  readonly journal: Journal;
  /** Gets the chunks as the client sees them. */
  readonly log: TurnLog;
  /** The conversation's id, as its routes have it. */
  readonly conversation: string;
  /** The prefix of tools' idempotency keys, unique to the conversation across all tenants. */
  readonly keyPrefix: string;
  /** The trace that all attempts at the turn belong to. */
  readonly trace?: string | undefined;
  /** The request that led to the turn, so that it is recognised when it is sent again. */
  readonly post?: Post | undefined;
  /** What the turn has cost so far. */
  readonly cost: () => Cost;
  readonly spendLimits?: Omit<SpendLimits, "tenant">;
  /** What the tenant may spend. Default: no limit. */
  readonly leases?: QuotaService | undefined;
  /** Receives each chunk that the log gets, too. Must not throw. */
  readonly emit?: (chunk: UIMessageChunk) => void;
  /** Receives the end once it is committed. Must not throw. */
  readonly onEnd?: (end: TurnEnd) => void;
}

/** How a turn or a plan run ended: codes and counts. */
export interface TurnEnd {
  readonly status: "done" | "failed" | "stopped" | "waiting";
  /** Why it failed. */
  readonly code?: ErrorCode | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly usage: Usage;
  readonly savings: Savings;
  readonly cost: Cost;
}
