import { useLayoutEffect, useRef, useState } from "react";
import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";
import { type Loaded, useLoaded } from "./use-loaded.ts";

interface VariableList {
  /** Newest first. */
  readonly variables: readonly VariableInfo[];
  readonly hasMore: boolean;
}

const FIRST_SHOWN = 60;
/** As many as the server lists at once. */
const MAX_LAST = 1_000;

export interface Variables extends Loaded<VariableList> {
  readonly showMore: () => void;
}

/** The newest variables of the conversation, and more of them when they are asked for. */
export function useVariables(session: Session, revision: number): Variables {
  const [count, setCount] = useState(FIRST_SHOWN);
  const loaded = useLoaded(() => newest(session, count), `${revision}/${count}`);
  return { ...loaded, showMore: () => setCount((last) => last * 4) };
}

/** The list begins with the oldest, unless it is asked for the last ones alone. */
async function newest(session: Session, count: number): Promise<VariableList> {
  const { variables } = session.client.conversation(session.conversation);
  if (count <= MAX_LAST) {
    const page = await variables.list({ last: count });
    return { variables: page.variables.toReversed(), hasMore: page.variables.length === count };
  }
  const all: VariableInfo[] = [];
  for (let next: number | undefined = 0; next !== undefined;) {
    const page: Awaited<ReturnType<typeof variables.list>> = await variables.list({ after: next });
    all.push(...page.variables);
    next = page.next;
  }
  return { variables: all.slice(-count).reverse(), hasMore: all.length > count };
}

export interface Shown {
  readonly info: VariableInfo;
  /** It is gone, and is shown for a moment still. */
  readonly isLeaving: boolean;
}

const LEAVING_MS = 400;

/** What has gone leaves softly. */
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
