import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { unchanging } from "../queries.ts";
import type { Entry } from "../session.ts";

const KEY = "byref-agents";
/** Conversations of which it is remembered who answers. */
const MAX_REMEMBERED = 100;

type Remembered = readonly (readonly [conversation: string, agent: string])[];

/** Until they are known, the server chooses who answers. */
const UNKNOWN: AgentsDescription = { agents: [] };

/** What the server says of its agents. */
export function agentsQuery({ client, options }: Entry) {
  const queryKey = ["agents", options.auth];
  return { queryKey, queryFn: () => client.agents(), ...unchanging };
}

/** Who can answer, and who does in this conversation: whoever was chosen in it, else in the last one. */
export function useAgents(entry: Entry, conversation: string) {
  const { data: described = UNKNOWN } = useQuery(agentsQuery(entry));
  const [remembered, setRemembered] = useState<Remembered>(read);
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
