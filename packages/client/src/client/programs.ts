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
export class ClientPrograms {
  readonly #ask: Connection["ask"];
  readonly #call: Connection["call"];

  constructor({ ask, call }: Connection) {
    this.#ask = ask;
    this.#call = call;
  }

  list(): Promise<{ readonly programs: readonly ListedProgram[] }> {
    return this.#ask("GET", "/programs");
  }

  /** Keeps a program, as a new version if there is one. Throws `invalid_plan`. */
  put(
    name: string,
    json: WrittenProgram,
    query: { readonly agent?: string } = {},
  ): Promise<ProgramView> {
    return this.#ask("PUT", pathOf(name), { json, query });
  }

  /** Default: the newest version. */
  get(name: string, query: { readonly version?: number } = {}): Promise<ProgramView> {
    return this.#ask("GET", pathOf(name), { query });
  }

  async delete(name: string): Promise<void> {
    await this.#call("DELETE", pathOf(name));
  }

  /** Runs a program until it ends or waits for a person. */
  run(
    name: string,
    json: { readonly input?: Json; readonly version?: number } = {},
  ): Promise<ProgramRunView> {
    return this.#ask("POST", `${pathOf(name)}/runs`, { json });
  }

  /** Newest first. */
  runs(name: string): Promise<{ readonly runs: readonly ListedProgramRun[] }> {
    return this.#ask("GET", `${pathOf(name)}/runs`);
  }

  getRun(name: string, run: string): Promise<ProgramRunView> {
    return this.#ask("GET", `${pathOf(name)}/runs/${encodeURIComponent(run)}`);
  }
}

function pathOf(name: string): string {
  return `/programs/${encodeURIComponent(name)}`;
}
