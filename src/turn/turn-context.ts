import type { FinishReason, LanguageModel, UIMessageChunk } from "ai";
import type { ErrorCode, PublicError } from "../errors.ts";
import type { UserScope } from "../store/user-variables.ts";
import type { VariableStore } from "../store/variables.ts";
import type { Agent } from "./agent.ts";
import type { History } from "./history/history.ts";
import type { TimedAttempt } from "./history/timeline.ts";
import type { Post } from "./history/post.ts";
import type { Identity } from "../tool/identity.ts";
import type { Journal } from "./log/journal.ts";
import type { TurnLog } from "./log/turn-log.ts";
import type { ModelCallContext } from "./model/model-call.ts";
import type { QuotaService, Cost, SpendLimits, Usage } from "./spend/spend.ts";
import type { Savings } from "./spend/account.ts";
import type { PlatformServices } from "./toolbox.ts";

/**
 * The context of an attempt at a turn or a plan run, used by its steps, model calls and tool calls. A called
 * agent receives a context derived from this one.
 */
export interface TurnContext extends ModelCallContext {
  readonly agent: Agent;
  readonly model: LanguageModel;
  readonly store: VariableStore;
  /** The values of who asks, for agents that may use them. Default: nobody is known to ask. */
  readonly user?: UserScope;
  readonly log: Pick<TurnLog, "commit" | "note">;
  /** Receives each chunk as the client sees it. */
  readonly emit: (chunk: UIMessageChunk) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newId: () => string;
  /** Services for the runtime's own tools. Default: only tools that need none. */
  readonly services?: PlatformServices;
  /** Number of agents that wait for this one. Default: 0. */
  readonly depth?: number;
}

/** Options for starting a turn or a plan run. */
export interface TurnOptions extends Omit<TurnContext, "account" | "log" | "emit" | "depth"> {
  readonly history: History;
  /** Records the turn while it runs, in the same SQLite database as the history. */
  readonly journal: Journal;
  /** Receives the chunks as the client sees them. */
  readonly log: TurnLog;
  /** The conversation's id, as in its routes. */
  readonly conversation: string;
  readonly asker?: Identity | undefined;
  /** The prefix of tools' idempotency keys, unique to the conversation across all tenants. */
  readonly keyPrefix: string;
  /** The trace that all attempts at the turn belong to. */
  readonly trace?: string | undefined;
  /** The request that started the turn. Recognises the request when it is sent again. */
  readonly post?: Post | undefined;
  /** Durations within the attempt so far, stored with the answer. Default: not stored. */
  readonly timeline?: () => TimedAttempt;
  /** Logs what ended a turn early. Returns further details of the turn's public error. */
  readonly onFailure?: (error: unknown) => PublicError["details"];
  readonly cost: () => Cost;
  readonly spendLimits?: Omit<SpendLimits, "tenant">;
  /** The tenant's quota. Default: no limit. */
  readonly leases?: QuotaService | undefined;
  /** Receives each chunk that the log receives. Must not throw. */
  readonly emit?: (chunk: UIMessageChunk) => void;
  /** Called with the end once it is committed. Must not throw. */
  readonly onEnd?: (end: TurnEnd) => void;
}

/** The end of a turn or a plan run: codes and counts. */
export interface TurnEnd {
  readonly status: "done" | "failed" | "stopped" | "waiting";
  readonly code?: ErrorCode | undefined;
  /** The limit that the failure names, such as `tenant.modelCalls`. */
  readonly limit?: string | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly usage: Usage;
  readonly savings: Savings;
  readonly cost: Cost;
}
