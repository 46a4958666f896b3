import type { ListedPlan, RunView } from "./plan-view.ts";
import { writeAnswer } from "../plan/write-answer.ts";
import type { Proposal } from "../run/propose-plan.ts";
import { type Json, parsePath, readPath } from "../../../../src/references.ts";
import type { Plan, PlanFormatName } from "../../../../src/internal-tool.ts";
import type { ValueLabels } from "../../../../src/internal.ts";

export interface WrittenProgram extends Omit<Proposal, "format"> {
  /** `message`: a question to the agent, in place of a plan. */
  readonly format: ProgramFormat;
  /** Default: the application's first agent. */
  readonly agent?: string | undefined;
}

export type ProgramFormat = PlanFormatName | "message";

/** What the check of a program finds out, to show it. */
export interface CheckedProgram extends Pick<ListedPlan, "calls" | "findings"> {
  readonly agent: string;
  /** JSON Schema of a run's input. */
  readonly input?: Json;
}

/** A run of a program in a conversation of its own. */
export interface ProgramStart {
  readonly run: string;
  readonly name: string;
  /** Undefined: the run must have begun. */
  readonly program?: WrittenProgram | undefined;
  readonly input: Json;
  readonly isTrusted: boolean;
  readonly conversation: string;
  /** Runs what a failed run has not done. */
  readonly retries?: boolean;
}

export interface ProgramOutcome {
  readonly run: Pick<RunView, "status" | "calls" | "error"> & Partial<Pick<RunView, "state">>;
  /** The text that the program has written, if it writes one. */
  readonly text?: string;
  /** The labels of what it has written. Absent if an agent has answered. */
  readonly labels?: ValueLabels;
}

/** The text of the last `write_answer` in the run's state. */
export function answerOf({ calls }: Pick<Plan, "calls">, { state }: RunView): string | undefined {
  const last = calls.findLast(({ tool }) => tool === writeAnswer.name);
  const [, path] = /^†state(\..+)$/u.exec(last?.outputPath ?? "") ?? [];
  const parsed = path === undefined ? undefined : parsePath(path);
  const found = parsed && readPath(state as Json, parsed);
  return found?.found === true && typeof found.value === "string" ? found.value : undefined;
}
