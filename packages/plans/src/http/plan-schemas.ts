import * as z from "zod";
import { later } from "../../../../src/internal.ts";
import { toolInputs } from "../../../../src/internal-tool.ts";

/** Schemas of plans over HTTP. Views use only their types; responses are not validated. */

export const from = z
  .string()
  .min(1)
  .describe("A variable, as `$report`, or the id of an answer: the calls that led to it");

export const callView = later(() =>
  z.strictObject({
    _id: z.string(),
    _tool: z.string(),
    status: z.enum(["waiting", "running", "done", "failed", "skipped"]),
    reason: z.string().optional().describe("Why it waits for approval, failed or was skipped"),
    gate: z.string().optional().describe("The gate to approve before it continues"),
    asked: z.string().optional().describe("The input to approve"),
  }),
);

const runCallView = later(() =>
  callView().extend({
    output: toolInputs.anyJson
      .readonly()
      .optional()
      .describe("Its result: a value of up to 1,000 characters as JSON, else a handle"),
  }),
);

const plannedCallView = later(() =>
  callView().extend({
    _outputPath: z.string().optional(),
    _after: z.array(z.string()).optional().describe("Gates that it waits for"),
    after: z.array(z.string()).describe("Ids of the calls that it depends on"),
    input: toolInputs.anyJson.readonly().describe("Parameters, as they were written"),
  }),
);

export const runView = later(() =>
  z.strictObject({
    id: z.string(),
    status: z.enum(["running", "waiting", "done", "failed", "cancelled"]),
    createdAt: z.iso.datetime(),
    input: toolInputs.anyJson,
    state: toolInputs.anyJson.readonly().describe("Results, partial while the run is open"),
    calls: z.array(runCallView()),
    error: z.string().optional(),
    omitted: z
      .literal(true)
      .optional()
      .describe("Set if input, state and calls are omitted because the plan has too many runs"),
  }),
);

export const planView = later(() =>
  z.strictObject({
    id: z.string(),
    status: z.enum(["proposed", "approved", "running", "done", "failed", "cancelled"]),
    name: z.string().optional(),
    format: z.enum(["json", "capability-xml", "template"]),
    agent: z.string(),
    tainted: z.literal(true).optional().describe("Set if its author had read untrusted data"),
    createdAt: z.iso.datetime(),
    input: toolInputs.anyJson.readonly().optional().describe("JSON Schema of a run's input"),
    calls: z.array(plannedCallView()),
    findings: z.array(
      z.strictObject({
        code: z.string(),
        call: z.string().optional(),
        at: z.string().optional().describe("Where in the call"),
        message: z.string(),
        line: z.int().min(1).optional(),
        column: z.int().min(1).optional(),
      }),
    ),
    runs: z.array(runView()).describe("Oldest first"),
  }),
);

export const recomputation = later(() =>
  z.strictObject({
    calls: z.array(
      z.strictObject({
        _id: z.string().describe("The variable that it makes again"),
        _tool: z.string(),
        after: z.array(z.string()).describe("The calls that it depends on"),
        effects: z.enum(["none", "idempotent", "once"]),
        approval: z.enum(["always", "perhaps"]).optional().describe("Whether a person is asked"),
      }),
    ),
    left: z.array(z.strictObject({ name: z.string(), reason: z.string() })),
  }),
);

export const planListed = later(() =>
  planView()
    .omit({ runs: true, input: true })
    .extend({
      calls: z.array(plannedCallView().omit({ input: true })),
      omitted: z
        .literal(true)
        .optional()
        .describe("Set if the calls are omitted because the list is too long"),
    }),
);

export const planList = later(() => z.strictObject({ plans: z.array(planListed()) }));

/** Data of the parts `data-call` and `data-run` in a run's stream. */
export const callPart = later(() =>
  z.strictObject({
    call: z.string(),
    tool: z.string(),
    ...runCallView().pick({ status: true, reason: true, gate: true, asked: true, output: true })
      .shape,
  }),
);
export const runPart = later(() =>
  z.strictObject({
    run: z.string(),
    status: runView().shape.status,
    state: toolInputs.anyJson.describe("Handles replace long and guarded values"),
    outputs: z.record(z.string(), toolInputs.anyJson).describe("Results by call id"),
    error: z.string().optional(),
  }),
);
