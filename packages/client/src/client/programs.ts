import type * as z from "zod";
import type {
  programListed,
  programRunListed,
  programRunView,
  programView,
} from "../../../plans/src/http/program-schemas.ts";
import type { jsonPlan } from "../../../plans/src/plan/json-plan.ts";
import type { Json } from "../../../../src/references.ts";
import type { Connection } from "./connection.ts";

/** A plan, or what led to a value (`$report`) or an answer (its id) of a conversation. */
export type WrittenProgram =
  | z.infer<typeof jsonPlan>
  | { readonly conversation: string; readonly from: string };

export type ListedProgram = z.infer<ReturnType<typeof programListed>>;
export type ProgramView = z.infer<ReturnType<typeof programView>>;
export type ListedProgramRun = z.infer<ReturnType<typeof programRunListed>>;
export type ProgramRunView = z.infer<ReturnType<typeof programRunView>>;

/** The programs of the key's tenant. They need the binding `DIRECTORY`. */
export interface ClientPrograms {
  list(): Promise<{ readonly programs: readonly ListedProgram[] }>;
  /** Keeps a program, as a new version if there is one. Throws `invalid_plan`. */
  put(
    name: string,
    program: WrittenProgram,
    query?: { readonly agent?: string },
  ): Promise<ProgramView>;
  /** Default: the newest version. */
  get(name: string, query?: { readonly version?: number }): Promise<ProgramView>;
  delete(name: string): Promise<void>;
  /** Runs a program until it ends or waits for a person. */
  run(
    name: string,
    start?: { readonly input?: Json; readonly version?: number },
  ): Promise<ProgramRunView>;
  /** Newest first. */
  runs(name: string): Promise<{ readonly runs: readonly ListedProgramRun[] }>;
  getRun(name: string, run: string): Promise<ProgramRunView>;
}

export function programsOf({ ask, call }: Connection): ClientPrograms {
  const at = (...path: readonly string[]) =>
    ["/programs", ...path.map(encodeURIComponent)].join("/");
  return {
    list: () => ask("GET", at()),
    put: (name, json, query = {}) => ask("PUT", at(name), { json, query }),
    get: (name, query = {}) => ask("GET", at(name), { query }),
    delete: async (name) => void (await call("DELETE", at(name))),
    run: (name, json = {}) => ask("POST", at(name, "runs"), { json }),
    runs: (name) => ask("GET", at(name, "runs")),
    getRun: (name, run) => ask("GET", at(name, "runs", run)),
  };
}
