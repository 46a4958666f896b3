import { useState } from "react";

/** Runs an action, and keeps its error until the next attempt. */
export function useAttempt(): readonly [unknown, (work: () => Promise<unknown>) => Promise<void>] {
  const [problem, setProblem] = useState<unknown>();
  const attempt = async (work: () => Promise<unknown>) => {
    setProblem(undefined);
    try {
      await work();
    } catch (error) {
      setProblem(error);
    }
  };
  return [problem, attempt];
}
