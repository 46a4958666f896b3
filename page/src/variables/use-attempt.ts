import { useState } from "react";

/** Tries something, and keeps what went wrong until it is tried again. */
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
