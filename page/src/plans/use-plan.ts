import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Chunk, Decision, RunData, RunOptions } from "../../../packages/client/src/client.ts";
import { useConversation } from "../conversation-context.ts";
import type { CallState, Gate, Told } from "./call-state.ts";

/** Polling interval for runs that were started elsewhere. */
const LOOK_MS = 1_500;

/** Loads a plan and returns it with its actions. */
export function usePlan(id: string) {
  const { conversation } = useConversation().session;
  const { plans, approvals } = conversation;
  const [told, setTold] = useState<Told>();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const { data, error, refetch } = useQuery({
    queryKey: ["conversation", conversation.id, "plan", id],
    queryFn: () => plans.get(id),
    refetchInterval: ({ state }) =>
      told === undefined &&
      state.data?.runs.some(({ status }) => status === "running") === true &&
      LOOK_MS,
  });
  // Leaving the view ends reading, not the run.
  const reading = useRef(new AbortController());
  useEffect(() => {
    reading.current = new AbortController();
    return () => reading.current.abort();
  }, []);
  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    await work().catch(setProblem);
    await refetch();
    setTold(undefined);
    setBusy(false);
  };
  /** Reads a run's stream to its end, and updates its calls. */
  const follow = async (chunks: AsyncIterable<Chunk<RunData>>, from: readonly CallState[]) => {
    let all = new Map(from.map((call) => [call._id, call]));
    let hasBegun = false;
    setTold(all);
    for await (const chunk of chunks) {
      if (chunk.type === "error") throw new Error(chunk.errorText);
      if (chunk.type !== "data-call") continue;
      // The run has started, so the plan's state has changed.
      if (!hasBegun) void refetch();
      hasBegun = true;
      setBusy(false);
      const { call, tool, ...state } = chunk.data;
      all = new Map(all).set(call, { ...state, _id: call, _tool: tool });
      setTold(all);
    }
  };
  return {
    plan: data,
    /** Error of the last request. */
    problem: problem ?? error,
    /** From the stream of a run that was started here. */
    told,
    isBusy,
    approve: () => void attempt(() => plans.approve(id)),
    cancel: () => void attempt(() => plans.cancel(id)),
    run: (request: RunOptions) => {
      const { signal } = reading.current;
      void attempt(() => follow(plans.run(id, { ...request, signal }), []));
    },
    decide: ({ name, run }: Gate, decision: Decision) => {
      const { signal } = reading.current;
      const calls = data?.runs.find((other) => other.id === run)?.calls ?? [];
      const decided = { ...decision, run };
      void attempt(() => follow(approvals.decide(name, decided, { signal }), calls));
    },
  };
}

export type OpenPlan = ReturnType<typeof usePlan>;
