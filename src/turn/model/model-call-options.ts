import type { FinishReason, LanguageModel, LanguageModelUsage, ToolSet, UIMessageChunk } from "ai";
import type { Awaitable } from "../../store/when-ready.ts";
import type { Observer } from "../../tool/observer.ts";
import type { Json } from "../../value/json.ts";
import type { SavingsCounter } from "../spend/savings.ts";

/** What a model is called with, and what its turn does of it. */
export interface CallModelOptions {
  readonly model: LanguageModel;
  readonly instructions: string;
  /** As the model is shown them. */
  readonly tools: ToolSet;
  readonly savings: SavingsCounter;
  /** Told of each try. */
  readonly observer?: Observer | undefined;
  readonly signal: AbortSignal;
  /** The text without anything that is secret. */
  readonly redact: (text: string) => string;
  /** Receives each chunk as the model wrote it. Awaited before the next. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
  /**
   * Takes back what was written of this answer; called when another try has something to say in its place.
   * Without it a call that fails is not tried again.
   */
  readonly reset?: () => void | Promise<void>;
  /** Called before each try, which waits for it; what it throws ends the call. */
  readonly onTry?: () => Awaitable<void>;
  /** Called after each try, failed ones included, with what the provider reported; undefined if nothing. */
  readonly onUsage: (usage: LanguageModelUsage | undefined) => void;
  /** Waits; ends early, without an error, when the signal aborts. Default: a timer. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>;
  /** Put behind the provider's ids of texts and reasoning, so that they are of this attempt alone. */
  readonly idSuffix?: string;
}

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
}

export interface CallModelResult {
  readonly finishReason: FinishReason;
  /** Calls that were asked of us and are well-formed. */
  readonly calls: readonly ToolCall[];
  /** Calls that were not, and have been answered with an error. */
  readonly invalidCalls: number;
}
