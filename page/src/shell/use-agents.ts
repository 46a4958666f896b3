import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { AgentsDescription } from "../../../src/edge/page-options.ts";
import { unchanging } from "../queries.ts";
import type { Entry } from "../session.ts";

const KEY = "byref-agents";
/** Maximum number of conversations whose chosen agent is stored. */
const MAX_REMEMBERED = 100;

type Remembered = readonly (readonly [conversation: string, agent: string])[];

/** Used until the agents are loaded: the server then chooses the agent. */
const UNKNOWN: AgentsDescription = { agents: [] };

/** Query options for the server's description of its agents. */
export function agentsQuery({ client, options }: Entry) {
  const queryKey = ["agents", options.auth];
  return { queryKey, queryFn: () => client.agents(), ...unchanging };
}

/** Returns the agents and the one for this conversation: the agent chosen in it, or else in the last conversation. */
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

/** Reads the stored choices. Ignores entries with another shape. */
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
