import * as z from "zod";
import { type PlanFormat, jsonPlan, jsonPlans } from "../plan/plan-format.ts";
import { from, planList, planView, recomputation, runView } from "./plan-view.ts";
import * as limits from "../../../../src/limits.ts";
import { askingIn, Plans } from "./plans.ts";
import { programApi, sourceIn } from "./program-endpoints.ts";
import { Programs } from "./programs.ts";
import {
  approvalEndpoint,
  type ConversationParts,
  type Endpoint,
  endpoint,
  locationQuery,
  parameters,
  type PlanSupport,
  requestBodies,
  schemas,
} from "../../../../src/internal-edge.ts";
import { json, later } from "../../../../src/internal.ts";
import { toolInputs } from "../../../../src/internal-tool.ts";

/** `POST …/plans/:plan/run`. */
const runBody = z.strictObject({
  input: toolInputs.anyJson.optional(),
  keep: z.boolean().optional(),
});

/** `POST …/recompute`. */
const recomputeBody = z.strictObject({
  names: z.array(z.string()).max(limits.maxItems).optional().describe("Default: all stale ones"),
  run: z.boolean().optional().describe("True: runs the calls, as a plan that is approved"),
});

const planSource = z.strictObject({ from, name: z.string().max(200).optional() });
const planOrSource = later(() => z.union([jsonPlan, planSource]));

/** The response to a decision: the run for a plan's gate, otherwise the turn. */
const decided = later(() => z.union([schemas.turn(), runView()]));

const plan = { "application/json": planView };

/** Endpoints of a conversation's plans and their runs. */
function planEndpoints(planFormats: readonly PlanFormat[]): readonly Endpoint<ConversationParts>[] {
  return [
    {
      ...approvalEndpoint,
      summary: "Approves or denies a tool call or a plan's gate",
      answers: {
        200: {
          "text/event-stream": parameters.text,
          "text/plain": parameters.text,
          "application/json": decided,
        },
      },
    },
    proposeEndpoint(planFormats),
    endpoint(
      "GET /conversations/:id/plans",
      {
        summary: "Lists plans, oldest first",
        answers: { 200: { "application/json": planList } },
      },
      (_, parts) => Response.json(plansOf(parts).list()),
    ),
    endpoint(
      "GET /conversations/:id/plans/:plan",
      { summary: "Returns a plan and its runs", answers: { 200: plan } },
      async ({ params }, parts) => Response.json(await plansOf(parts).view(params.plan)),
    ),
    endpoint(
      "POST /conversations/:id/plans/:plan/approve",
      { summary: "Approves a plan", answers: { 200: plan } },
      async ({ params, request }, parts) => {
        const { asked } = askingIn(params.id, request, parts);
        return Response.json(await plansToChange(parts).approve(params.plan, asked));
      },
    ),
    endpoint(
      "POST /conversations/:id/plans/:plan/cancel",
      { summary: "Cancels a plan and its runs", answers: { 200: plan } },
      async ({ params }, parts) => Response.json(await plansToChange(parts).cancel(params.plan)),
    ),
    runEndpoint,
    recomputeEndpoint,
  ];
}

const runAnswers = {
  "text/event-stream": parameters.text.describe("With data-call and data-run parts"),
  "text/plain": parameters.text.describe("One line for each call"),
  "application/json": runView,
};

const recomputed = later(() => z.union([recomputation(), runView()]));

const recomputeEndpoint: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/recompute",
  {
    summary: "Says which calls make stale variables again, or runs them",
    query: { agent: parameters.text.optional() },
    body: recomputeBody,
    isBodyOptional: true,
    answers: {
      200: {
        ...runAnswers,
        "application/json": recomputed,
      },
    },
  },
  ({ params: { id }, query: { agent }, body, request }, parts) => {
    const { names, run = false } = body;
    const asking = askingIn(id, request, parts);
    return plansToChange(parts).recompute({ names, run, agent }, asking);
  },
);

function proposeEndpoint(planFormats: readonly PlanFormat[]): Endpoint<ConversationParts> {
  return endpoint(
    "POST /conversations/:id/plans",
    {
      summary: "Proposes a plan; an error lists all findings",
      query: {
        agent: parameters.text.optional(),
        location: locationQuery,
        run: z
          .enum(["true", "false"])
          .optional()
          .describe("`true`: also approves the plan, and runs it without an input"),
      },
      content: {
        "application/json": planOrSource,
        "application/xml": parameters.text.describe("A capability workflow"),
        "text/markdown": parameters.text.describe("A template"),
      },
      answers: { 201: plan, 200: runAnswers },
    },
    async ({ params, query: { agent, run }, request, text: body }, parts) => {
      const { format } = planFormatOf(request, planFormats);
      const written = await body();
      const plans = plansToChange(parts);
      const asking = askingIn(params.id, request, parts);
      const given = format === "json" ? json.jsonIn(written) : undefined;
      const source = sourceIn(given, "from", planSource);
      const proposal = source ?? { format, text: written };
      const proposed = await plans.propose({ proposal, agent }, asking);
      if (run !== "true") return Response.json(proposed, { status: 201 });
      return plans.approveAndRun(proposed.id, asking);
    },
  );
}

const runEndpoint: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/plans/:plan/run",
  {
    summary: "Runs an approved plan",
    body: runBody,
    isBodyOptional: true,
    answers: { 200: runAnswers },
  },
  ({ params: { id, plan }, body, request }, parts) =>
    plansToChange(parts).run(plan, body, askingIn(id, request, parts)),
);

function plansOf({ context: { plans } }: ConversationParts): Plans {
  if (plans instanceof Plans) return plans;
  throw new Error("This application has no plans.");
}

/** Recovers an interrupted turn or run before a change. */
function plansToChange(parts: ConversationParts): Plans {
  parts.turns.recover();
  return plansOf(parts);
}

/** Throws `unsupported_media_type`. */
function planFormatOf(request: Request, planFormats: readonly PlanFormat[]): PlanFormat {
  const type = requestBodies.mediaTypeOf(request)?.essence ?? "";
  const planFormat = planFormats.find(({ mediaTypes }) => mediaTypes.includes(type));
  if (planFormat !== undefined) return planFormat;
  const known = planFormats.flatMap(({ mediaTypes }) => mediaTypes).join(", ");
  throw requestBodies.unsupportedType(request, `a plan is ${known}.`);
}

/** Supports JSON plans, and plans in other formats: `capabilityWorkflows`, `templates`. */
export function planSupport(...others: readonly PlanFormat[]): PlanSupport {
  const planFormats = [jsonPlans, ...others];
  const formatOf = (request: Request) => planFormatOf(request, planFormats);
  const programs = programApi({ formatOf, plansOf: plansToChange });
  return {
    open: (context) => new Plans(context, planFormats),
    openTenant: (context) => new Programs(context),
    api: {
      ...programs,
      conversation: planEndpoints(planFormats),
      components: {
        WrittenPlan: planOrSource,
        RunBody: runBody,
        RecomputeBody: recomputeBody,
        Recomputation: recomputation,
        Recomputed: recomputed,
        Plan: planView,
        PlanList: planList,
        Run: runView,
        Decided: decided,
        ...programs.components,
      },
    },
  };
}
