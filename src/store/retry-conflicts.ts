import { codeOf } from "../errors.ts";

/** Runs the attempt, and again after a `conflict` with another write; `maxTries` times in all. */
export async function retryConflicts<Result>(
  maxTries: number,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (codeOf(error) !== "conflict" || tries === maxTries) throw error;
    }
  }
}
