import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { PlanView } from "../../../packages/plans/src/http/plan-view.ts";
import type { Chunk, RunData } from "../../../packages/client/src/client.ts";
import type { Session } from "../session.ts";
import { problemWords } from "../variables/problem-words.ts";
import type { CallState, Gate } from "./call-state.ts";
import type { RunRequest } from "./run-form.tsx";

export interface OpenPlan {
  readonly plan?: PlanView;
  readonly error: unknown;
  /** States of calls from the stream of a run that was started here. */
  readonly told: ReadonlyMap<string, CallState> | undefined;
  readonly isBusy: boolean;
  /** Error of the last request. */
  readonly problem: string | undefined;
  readonly approve: () => void;
  readonly cancel: () => void;
  readonly run: (request: RunRequest) => void;
  readonly decide: (gate: Gate, decision: { approved: boolean; reason?: string }) => void;
}

/** Polling interval for runs that were started elsewhere. */
const LOOK_MS = 1_500;

/** Loads a plan and returns it with its actions. */
export function usePlan(session: Session, id: string): OpenPlan {
  const conversation = session.client.conversation(session.conversation);
  const { plans, approvals } = conversation;
  const [told, setTold] = useState<ReadonlyMap<string, CallState>>();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const { data: plan, error, refetch } = useLoadedPlan(session, id, told === undefined);
  const signal = useSignals();

  const attempt = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
    } catch (failure) {
      setProblem(problemWords(failure));
    }
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
    ...(plan === undefined ? {} : { plan }),
    error,
    told,
    isBusy,
    problem,
    approve: () => void attempt(() => plans.approve(id)),
    cancel: () => void attempt(() => plans.cancel(id)),
    run: (request) =>
      void attempt(() => follow(plans.run(id, { ...request, signal: signal() }), [])),
    decide: ({ name, run }, decision) => {
      const calls = plan?.runs.find((other) => other.id === run)?.calls ?? [];
      const decided = { ...decision, run };
      void attempt(() => follow(approvals.decide(name, decided, { signal: signal() }), calls));
    },
  };
}

function useLoadedPlan({ client, conversation }: Session, id: string, looks: boolean) {
  return useQuery({
    queryKey: ["conversation", conversation, "plan", id],
    queryFn: () => client.conversation(conversation).plans.get(id),
    refetchInterval: ({ state: { data } }) =>
      looks && data?.runs.some(({ status }) => status === "running") === true && LOOK_MS,
  });
}

/** Signals for readers. Leaving the view ends reading, not the run. */
function useSignals(): () => AbortSignal {
  const controllers = useRef(new Set<AbortController>());
  useEffect(() => {
    const all = controllers.current;
    return () => {
      for (const controller of all) controller.abort();
    };
  }, []);
  return () => {
    const controller = new AbortController();
    controllers.current.add(controller);
    return controller.signal;
  };
}
