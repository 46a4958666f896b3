import * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { json, later, type ValueLabels } from "../../../../src/internal.ts";
import { toolInputs, type Plan, type PlanFormatName } from "../../../../src/internal-tool.ts";
import { jsonPlan, writeAnswer } from "../plan/plan-format.ts";
import { from, planListed, runView, type ListedPlan, type RunView } from "./plan-view.ts";
import type { Proposal } from "../run/open-plan.ts";
import { type Json, parsePath, readPath } from "../../../../src/references.ts";

export const programSource = z.strictObject({ conversation: z.string(), from });
export const programMessage = z.strictObject({
  message: z
    .string()
    .min(1)
    .max(limits.maxPieceChars)
    .describe("Asks the agent; a run's input is `$input`"),
  input: jsonPlan.shape.input,
});
export const planOrProgram = later(() => z.union([jsonPlan, programSource, programMessage]));

export const newRun = z.strictObject({
  input: toolInputs.anyJson.optional(),
  version: z.int().min(1).optional().describe("Default: the newest"),
  trusted: z.boolean().optional().describe("`false` for the input of a stranger"),
});

export const programListed = later(() =>
  z.strictObject({
    name: z.string(),
    version: z.int().min(1),
    agent: z.string(),
    tainted: z.literal(true).optional().describe("Set if its author had read untrusted data"),
    createdAt: z.iso.datetime(),
    input: toolInputs.anyJson.readonly().optional().describe("JSON Schema of a run's input"),
    description: z.string().optional().describe("In the list of an agent: what its model is told"),
  }),
);

export const programView = later(() =>
  programListed().extend({
    format: z.enum([...planListed().shape.format.options, "message"]),
    calls: planListed().shape.calls,
    findings: planListed().shape.findings,
    plan: toolInputs.anyJson.readonly().describe("As it was written; JSON, or a text"),
    versions: z.array(z.int().min(1)).describe("Versions that are kept, oldest first"),
    schedules: z.array(scheduleView()),
    webhooks: z.array(webhookView()),
    agents: z.array(agentView()).describe("The agents whose models may run it"),
  }),
);
export const programList = later(() => z.strictObject({ programs: z.array(programListed()) }));

export const programRunListed = later(() =>
  z.strictObject({
    id: z.string(),
    program: z.string(),
    version: z.int().min(1),
    cause: z.string().describe("`request`, `schedule:<id>`, `webhook:<id>` or `agent:<name>`"),
    conversation: z.string().describe("The run's own conversation"),
    status: runView().shape.status,
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().optional(),
    ms: z.int().optional().describe("Duration, with the time for approvals and before a retry"),
    input: toolInputs.anyJson.optional().describe("Absent in lists if it is long"),
    error: z.string().optional(),
  }),
);
export const programRunView = later(() =>
  programRunListed().extend({
    state: toolInputs.anyJson.readonly().optional().describe("Absent if its conversation is gone"),
    calls: runView().shape.calls.optional(),
    text: z.string().optional().describe("The text that the program writes"),
    untrusted: z.literal(true).optional().describe("Set if some of it is a stranger's"),
    visibility: z.enum(["sealed", "secret"]).optional().describe("Set if no model may see it"),
  }),
);
export const programRunList = later(() => z.strictObject({ runs: z.array(programRunListed()) }));

export const newSchedule = z.strictObject({
  cron: z
    .string()
    .max(limits.maxLineChars)
    .meta({ examples: ["0 8 * * 1"] })
    .describe("Minute, hour, day, month, weekday; seconds may stand before them"),
  timeZone: z
    .string()
    .max(limits.maxLineChars)
    .meta({ examples: ["Europe/Berlin"] })
    .describe("A name of the IANA time zone database"),
  input: toolInputs.anyJson.optional(),
  misfires: z
    .enum(["skip", "once", "all"])
    .default("once")
    .describe("The runs of times that passed while the service was down"),
});
const trigger = { name: z.string(), createdAt: z.iso.datetime() };
export const scheduleView = later(() =>
  newSchedule.extend({
    ...trigger,
    nextAt: z.iso.datetime().optional().describe("Absent if there is no next time"),
  }),
);
export const webhookView = later(() =>
  z.strictObject({
    ...trigger,
    path: z.string().describe("Where signed requests are sent"),
    secret: z.string().optional().describe("`whsec_…`: shown only when it is made"),
  }),
);
export const newAgent = z.strictObject({
  description: z
    .string()
    .max(limits.maxDescriptionChars)
    .optional()
    .describe("What the agent's model is told of the program"),
});
export const agentView = later(() => newAgent.extend(trigger));
export const received = z.strictObject({ run: z.string() });

export type ListedProgram = z.infer<ReturnType<typeof programListed>>;
export type RanProgram = z.infer<ReturnType<typeof programRunView>>;
/** When a program runs, and for what input. */
export type Schedule = z.infer<typeof newSchedule>;

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

/**
 * Throws `idempotency_mismatch` if a key, or a webhook's id, has come with another input or version before. The order of
 * an input's keys does not count.
 */
export function requireSame(input: Json, before: Json): void {
  if (json.canonicalJson(input) === json.canonicalJson(before)) return;
  const message = "This Idempotency-Key came with another input or version.";
  throw new ByrefError("idempotency_mismatch", message);
}
