import { useCallback, useEffect, useState } from "react";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import type { Entry } from "../session.ts";

const KEY = "byref-agents";
/** Conversations of which it is remembered who answers. */
const MAX_REMEMBERED = 100;

type Remembered = readonly (readonly [conversation: string, agent: string])[];

/** Who can answer, and who does in this conversation: whoever was chosen in it, else in the last one. */
export function useAgents(
  { client }: Entry,
  first: AgentsDescription | undefined,
  conversation: string,
) {
  const [described, setDescribed] = useState<AgentsDescription>(first ?? { agents: [] });
  const [remembered, setRemembered] = useState<Remembered>(read);
  useEffect(() => {
    if (first !== undefined) return;
    client
      .agents()
      .then(setDescribed)
      // The server then chooses who answers.
      .catch((error: unknown) => console.warn(error));
  }, [client, first]);
  const { agents, page } = described;
  const own = remembered.find(([id]) => id === conversation)?.[1];
  const known = [own, remembered[0]?.[1], page?.agent, agents[0]?.name];
  const agent = known.find((name) => agents.some((one) => one.name === name));
  const setAgent = useCallback(
    (name: string) =>
      setRemembered((before) => {
        const others = before.filter(([id]) => id !== conversation);
        const next = [[conversation, name] as const, ...others].slice(0, MAX_REMEMBERED);
        localStorage.setItem(KEY, JSON.stringify(next));
        return next;
      }),
    [conversation],
  );
  return { described, agents, agent, setAgent };
}

/** What is not as it was written above does not count. */
function read(): Remembered {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isPair) : [];
  } catch {
    return [];
  }
}

function isPair(one: unknown): one is Remembered[number] {
  return Array.isArray(one) && typeof one[0] === "string" && typeof one[1] === "string";
}
