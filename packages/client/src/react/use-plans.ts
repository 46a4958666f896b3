import { useCallback, useSyncExternalStore } from "react";
import type { ClientConversation } from "../client/conversation.ts";
import type { RunOptions } from "../client/plans.ts";
import type { PlanView, RunView } from "../../../plans/src/http/plan-view.ts";
import type { PlanList } from "./live-conversation.ts";
import { useLive } from "./use-variables.ts";

/** The plans of a conversation, and what a person does with them. */
export interface Plans extends PlanList {
  /** Throws a `ClientError`. */
  readonly approve: (plan: string) => Promise<PlanView>;
  /** Resolves when the run ends, or waits for a person. Throws a `ClientError`. */
  readonly run: (plan: string, options?: RunOptions) => Promise<RunView>;
}

/** The plans of a conversation, loaded again when one of them, or a run, changes. */
export function usePlans(conversation: ClientConversation | undefined): Plans {
  const live = useLive(conversation);
  const { subscribe, read } = live?.plans ?? none;
  const list = useSyncExternalStore(subscribe, read, read);
  const act = useCallback(
    async <Result>(work: (given: ClientConversation) => Promise<Result>): Promise<Result> => {
      if (conversation === undefined) throw new Error("usePlans has no conversation yet.");
      return work(conversation).finally(() => live?.loadPlans());
    },
    [live],
  );
  return {
    ...list,
    approve: useCallback((plan) => act(({ plans }) => plans.approve(plan)), [act]),
    run: useCallback((plan, options) => act(({ plans }) => plans.run(plan, options).json()), [act]),
  };
}

const NONE: PlanList = { plans: undefined, error: undefined };
const none = { subscribe: () => () => undefined, read: () => NONE };
