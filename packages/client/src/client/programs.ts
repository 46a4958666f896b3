import type * as z from "zod";
import type {
  agentView,
  newAgent,
  newRun,
  newSchedule,
  programListed,
  programMessage,
  programRunListed,
  programRunView,
  programView,
  scheduleView,
  webhookView,
} from "../../../plans/src/http/program-schemas.ts";
import type { jsonPlan } from "../../../plans/src/plan/plan-format.ts";
import { type Connection, pathTo } from "./connection.ts";

/** A plan, what led to a value (`$report`) or an answer (its id) of a conversation, or a message to an agent. */
export type WrittenProgram =
  | z.infer<typeof jsonPlan>
  | z.infer<typeof programMessage>
  | { readonly conversation: string; readonly from: string };

export type ListedProgram = z.infer<ReturnType<typeof programListed>>;
export type ProgramView = z.infer<ReturnType<typeof programView>>;
export type ListedProgramRun = z.infer<ReturnType<typeof programRunListed>>;
export type NewSchedule = z.input<typeof newSchedule>;
export type ScheduleView = z.infer<ReturnType<typeof scheduleView>>;
export type WebhookView = z.infer<ReturnType<typeof webhookView>>;
export type ProgramRunView = z.infer<ReturnType<typeof programRunView>>;

/** The programs of the key's tenant. They need the binding `DIRECTORY`. */
export type ClientPrograms = ReturnType<typeof programsOf>;

export function programsOf({ ask, call }: Connection) {
  const at = pathTo.bind(undefined, "programs");
  return {
    /** `agent`: those that its model may run. */
    list: (
      query: { readonly agent?: string } = {},
    ): Promise<{ readonly programs: readonly ListedProgram[] }> => ask("GET", at(), { query }),
    /** Keeps a program, as a new version if there is one, or with `check` says what it would be. Throws `invalid_plan`. */
    put: (
      name: string,
      json: WrittenProgram,
      query: { readonly agent?: string; readonly check?: true } = {},
    ): Promise<ProgramView> => ask("PUT", at(name), { json, query }),
    /** Default: the newest version. */
    get: (name: string, query: { readonly version?: number } = {}): Promise<ProgramView> =>
      ask("GET", at(name), { query }),
    /** Deletes a program, or a schedule or webhook of it, or takes it back from an agent. */
    delete: async (
      ...path: readonly [
        name: string,
        ...trigger:
          | readonly []
          | readonly [kind: "schedules" | "webhooks" | "agents", name: string],
      ]
    ): Promise<void> => void (await call("DELETE", at(...path))),
    /** Runs a program at the times of a cron line. Throws `bad_request` and `invalid_plan`. */
    schedule: (name: string, schedule: string, json: NewSchedule): Promise<ScheduleView> =>
      ask("PUT", at(name, "schedules", schedule), { json }),
    /** Adds a webhook, or gives it a new secret, which only this call returns. */
    webhook: (name: string, webhook: string): Promise<Required<WebhookView>> =>
      ask("PUT", at(name, "webhooks", webhook)),
    /** Lets the model of an agent run it. */
    offer: (
      name: string,
      agent: string,
      json: z.infer<typeof newAgent> = {},
    ): Promise<z.infer<ReturnType<typeof agentView>>> =>
      ask("PUT", at(name, "agents", agent), { json }),
    /** Runs a program until it ends or waits for a person. */
    run: (name: string, json: z.infer<typeof newRun> = {}): Promise<ProgramRunView> =>
      ask("POST", at(name, "runs"), { json }),
    /** Newest first. */
    runs: (name: string): Promise<{ readonly runs: readonly ListedProgramRun[] }> =>
      ask("GET", at(name, "runs")),
    getRun: (name: string, run: string): Promise<ProgramRunView> =>
      ask("GET", at(name, "runs", run)),
    /** Runs what a failed run has not done. Throws `conflict`, `outcome_unknown` and `invalid_plan`. */
    retryRun: (name: string, run: string): Promise<ProgramRunView> =>
      ask("POST", at(name, "runs", run, "retry")),
  };
}
