import { useLayoutEffect, useRef, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";

export interface Shown {
  readonly info: VariableInfo;
  /** True for a removed variable that fades out. */
  readonly isLeaving: boolean;
}

const LEAVING_MS = 400;

/** Keeps removed variables for a moment, so that they fade out. */
export function useLeaving(variables: readonly VariableInfo[]): readonly Shown[] {
  const [leaving, setLeaving] = useState<readonly { info: VariableInfo; at: number }[]>([]);
  const previous = useRef(variables);
  useLayoutEffect(() => {
    const names = new Set(variables.map(({ name }) => name));
    const gone = previous.current.flatMap((info, at) =>
      names.has(info.name) ? [] : [{ info, at }],
    );
    previous.current = variables;
    setLeaving(gone);
    const timer = setTimeout(() => setLeaving([]), LEAVING_MS);
    return () => clearTimeout(timer);
  }, [variables]);
  const shown: Shown[] = variables.map((info) => ({ info, isLeaving: false }));
  const names = new Set(variables.map(({ name }) => name));
  for (const { info, at } of leaving) {
    if (!names.has(info.name)) shown.splice(at, 0, { info, isLeaving: true });
  }
  return shown;
}
