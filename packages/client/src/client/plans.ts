import type * as z from "zod";
import type {
  callPart,
  recomputation,
  runPart,
  PlanView,
  RunView,
} from "../../../plans/src/http/plan-view.ts";
import type { jsonPlan } from "../../../plans/src/plan/plan-format.ts";
import type { Json } from "../../../../src/references.ts";
import { type Connection, pathTo } from "./connection.ts";
import { bytesIn } from "./variables.ts";
import { type Streamed, streamed, type TurnData } from "./streamed.ts";

/**
 * A plan as a program writes it, a capability workflow, a template, or what a plan is made from: a variable, as
 * `$report`, or the id of an answer.
 */
export type WrittenPlan =
  | z.infer<typeof jsonPlan>
  | { readonly xml: string }
  | { readonly template: string }
  | { readonly from: string; readonly name?: string };

/** The data parts of a run, in addition to those of a turn. */
export type RunData = TurnData & {
  call: z.infer<ReturnType<typeof callPart>>;
  run: z.infer<ReturnType<typeof runPart>>;
};

/** The calls that make stale variables again, in their order, and the variables that no call makes again. */
export type Recomputation = z.infer<ReturnType<typeof recomputation>>;

export interface RunOptions {
  /** The value of `†input`. Default: `{}`. */
  readonly input?: Json;
  /** True if the conversation receives the state when the run is done. Default: true. */
  readonly keep?: boolean;
  /** Stops reading; the run continues. */
  readonly signal?: AbortSignal;
}

export type ClientPlans = ReturnType<typeof plansOf>;

export function plansOf(connection: Connection) {
  const { ask } = connection;
  const at = pathTo.bind(undefined, "plans");
  return {
    /** Throws `invalid_plan`, whose details have all `findings`. */
    propose(plan: WrittenPlan, query: { readonly agent?: string } = {}): Promise<PlanView> {
      const sent =
        "xml" in plan
          ? bytesIn(plan.xml, "application/xml")
          : "template" in plan
            ? bytesIn(plan.template, "text/markdown")
            : { json: plan };
      return ask("POST", at(), { query, ...sent });
    },
    /** Says which calls would make stale variables again, by default all that are stale. */
    recomputation: (names?: readonly string[]): Promise<Recomputation> =>
      ask("POST", "/recompute", { json: { names } }),
    /** Runs those calls, as `run` does; resolves with the `Recomputation` if there are none. */
    recompute(names?: readonly string[]): Streamed<RunData, RunView | Recomputation> {
      const json = { names, run: true };
      return streamed(connection, { method: "POST", at: "/recompute", json });
    },
    /** Oldest first. */
    list: (): Promise<{ readonly plans: readonly Omit<PlanView, "runs">[] }> => ask("GET", at()),
    get: (plan: string): Promise<PlanView> => ask("GET", at(plan)),
    approve: (plan: string): Promise<PlanView> => ask("POST", at(plan, "approve")),
    cancel: (plan: string): Promise<PlanView> => ask("POST", at(plan, "cancel")),
    /**
     * Runs a plan. The last part of the stream is `data-run`. Throws if the connection breaks before the first
     * part, because the run may or may not have begun.
     */
    run(plan: string, { signal, ...json }: RunOptions = {}): Streamed<RunData, RunView> {
      const request = { at: at(plan, "run"), json, signal } as const;
      return streamed(connection, { method: "POST", ...request });
    },
  };
}
