import { useQuery } from "@tanstack/react-query";
import type { Chunk, Decision, RunData, RunOptions } from "../../../packages/client/src/client.ts";
import { useConversation } from "../conversation-context.ts";
import { useAttempt } from "../hooks.ts";
import type { Gate } from "./call-state.ts";

/** Polling interval of running runs, whose events may be late. */
const LOOK_MS = 1_500;

/** Loads a plan and returns it with its actions. */
export function usePlan(id: string) {
  const { conversation } = useConversation().session;
  const { plans, approvals } = conversation;
  const [problem, attempt, , isBusy] = useAttempt();
  const { data, error, refetch } = useQuery({
    queryKey: ["conversation", conversation.id, "plan", id],
    queryFn: () => plans.get(id),
    refetchInterval: ({ state }) =>
      state.data?.runs.some(({ status }) => status === "running") === true && LOOK_MS,
  });
  const act = (work: () => Promise<unknown>): void =>
    void attempt(() => work().finally(() => refetch()));
  /** Reads how a run begins. What it does then, the conversation's events say. */
  const begin = async (chunks: AsyncIterable<Chunk<RunData>>) => {
    for await (const chunk of chunks) {
      if (chunk.type === "error") throw new Error(chunk.errorText);
      break;
    }
  };
  return {
    plan: data,
    /** Error of the last request. */
    problem: problem ?? error,
    isBusy,
    approve: () => act(() => plans.approve(id)),
    cancel: () => act(() => plans.cancel(id)),
    run: (request: RunOptions) => act(() => begin(plans.run(id, request))),
    decide: ({ name, run }: Gate, decision: Decision) => {
      const decided = { ...decision, run };
      act(() => begin(approvals.decide(name, decided)));
    },
  };
}

export type OpenPlan = ReturnType<typeof usePlan>;
