import { shownValue } from "../report/format.ts";
import type { Estimate } from "./estimate.ts";
import type { Progress } from "./run-cells.ts";

/** Says what a run will take. */
export function shownEstimate({ cells, calls, input, output, cost }: Estimate): string {
  const dollars =
    cost === undefined
      ? "no price is known: pass --price"
      : `about ${shownValue(cost, "dollars")} at most without the provider's cache`;
  return `Estimate: ${cells} cells, ${counted(calls)} model calls, ${counted(input)} input and ${counted(output)} output tokens; ${dollars}.`;
}

export interface Spent {
  readonly elapsedMs: number;
  readonly spent: number;
}

/** Says how far a run is, what it has cost, and when it will be done. */
export function shownProgress(
  { done, total, cell }: Progress,
  { elapsedMs, spent }: Spent,
): string {
  const left = Math.round(((elapsedMs / done) * (total - done)) / 1_000);
  const sign = cell.isRight ? "ok  " : "FAIL";
  return `${done}/${total} ${sign} ${cell.task}, ${cell.arm}; ${shownValue(spent, "dollars")} so far, ${shownTime(left)} left`;
}

function shownTime(seconds: number): string {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

function counted(value: number): string {
  return value.toLocaleString("en-US");
}
