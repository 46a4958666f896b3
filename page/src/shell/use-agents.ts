import { useCallback, useEffect, useState } from "react";
import type { Entry } from "../session.ts";
import type { AgentChoice } from "./header.tsx";

const KEY = "byref-agents";
/** Conversations of which it is remembered who answers. */
const MAX_REMEMBERED = 100;

type Remembered = readonly (readonly [conversation: string, agent: string])[];

/** Who can answer, and who does in this conversation: whoever was chosen in it, else in the last one. */
export function useAgents({ client }: Entry, conversation: string) {
  const [agents, setAgents] = useState<readonly AgentChoice[]>([]);
  const [remembered, setRemembered] = useState<Remembered>(read);
  useEffect(() => {
    client
      .agents()
      .then((known) => setAgents(known.agents))
      // The server then chooses who answers.
      .catch((error: unknown) => console.warn(error));
  }, [client]);
  const own = remembered.find(([id]) => id === conversation)?.[1];
  const known = [own, remembered[0]?.[1], agents[0]?.name];
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
  return { agents, agent, setAgent };
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
