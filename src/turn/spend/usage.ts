import type { LanguageModelUsage } from "ai";

/** Tokens of a turn, as far as the provider tells them. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

/** The sum; a number that nobody told stays absent. */
export function addUsage(sum: Usage, more: LanguageModelUsage | undefined): Usage {
  const add = (key: keyof Usage) => {
    const total = (sum[key] ?? 0) + (more?.[key] ?? 0);
    return sum[key] === undefined && more?.[key] === undefined ? {} : { [key]: total };
  };
  return { ...add("inputTokens"), ...add("outputTokens"), ...add("totalTokens") };
}
