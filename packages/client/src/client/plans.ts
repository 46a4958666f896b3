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
  return {
    /** Throws `invalid_plan`, whose details have all `findings`. */
    propose(plan: WrittenPlan, query: { readonly agent?: string } = {}): Promise<PlanView> {
      const [type, body] =
        "xml" in plan
          ? ["application/xml", plan.xml]
          : "template" in plan
            ? ["text/markdown", plan.template]
            : ["application/json", JSON.stringify(plan)];
      return ask("POST", pathTo("plans"), { query, headers: { "content-type": type }, body });
    },
    /** Says which calls would make stale variables again, by default all that are stale. */
    recomputation: (names?: readonly string[]): Promise<Recomputation> =>
      ask("POST", "/recompute", { json: { names } }),
    /** Runs those calls, as `run` does; resolves with the `Recomputation` if there are none. */
    recompute(names?: readonly string[]): Streamed<RunData, RunView | Recomputation> {
      const json = { names, run: true };
      return streamed(connection, { method: "POST", at: "/recompute", json, mayRepeat: false });
    },
    /** Oldest first. */
    list: (): Promise<{ readonly plans: readonly Omit<PlanView, "runs">[] }> =>
      ask("GET", pathTo("plans")),
    get: (plan: string): Promise<PlanView> => ask("GET", pathTo("plans", plan)),
    approve: (plan: string): Promise<PlanView> => ask("POST", pathTo("plans", plan, "approve")),
    cancel: (plan: string): Promise<PlanView> => ask("POST", pathTo("plans", plan, "cancel")),
    /**
     * Runs a plan. The last part of the stream is `data-run`. Throws if the connection breaks before the first
     * part, because the run may or may not have begun.
     */
    run(plan: string, { signal, ...json }: RunOptions = {}): Streamed<RunData, RunView> {
      const at = pathTo("plans", plan, "run");
      return streamed(connection, { method: "POST", at, json, mayRepeat: false, signal });
    },
  };
}
