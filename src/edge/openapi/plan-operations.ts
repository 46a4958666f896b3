import * as z from "zod";
import { jsonPlan } from "../../plan/json-plan.ts";
import { planList, planView, runView } from "../plans/plan-schemas.ts";
import { locationQuery } from "../placement.ts";
import { runBody } from "../routes/plans.ts";
import { conversationOperations } from "./conversation-operations.ts";
import type { Described } from "./document.ts";
import type { Operations } from "./operation.ts";
import { json, text } from "./parameters.ts";
import { turn } from "./schemas.ts";

const plan = json(planView);

const DECIDE = "POST /conversations/:id/approvals/:approval";
/** Behind a plan's gate the run goes on. */
const decided = z.union([turn, runView]);

const operations: Operations = {
  [DECIDE]: {
    ...conversationOperations[DECIDE],
    summary: "Decides on a tool call, or a plan's gate, that waits for a person",
    answers: {
      200: { "text/event-stream": text, "text/plain": text, "application/json": decided },
    },
  },
  "POST /conversations/:id/plans": {
    summary: "Proposes a plan; what keeps it from running is told as findings",
    query: { agent: text.optional(), location: locationQuery },
    body: {
      "application/json": jsonPlan,
      "application/xml": text.describe("A capability workflow"),
      "text/markdown": text.describe("A template"),
    },
    answers: { 201: plan },
  },
  "GET /conversations/:id/plans": {
    summary: "Lists the plans, oldest first",
    answers: { 200: json(planList) },
  },
  "GET /conversations/:id/plans/:plan": {
    summary: "Tells of a plan and its runs",
    answers: { 200: plan },
  },
  "POST /conversations/:id/plans/:plan/approve": {
    summary: "Lets it run",
    answers: { 200: plan },
  },
  "POST /conversations/:id/plans/:plan/cancel": {
    summary: "Ends it, and what runs of it",
    answers: { 200: plan },
  },
  "POST /conversations/:id/plans/:plan/run": {
    summary: "Runs it, once it is approved",
    body: json(runBody),
    isBodyOptional: true,
    answers: {
      200: {
        "text/event-stream": text.describe("With parts data-call and data-run"),
        "text/plain": text.describe("A line for each call"),
        "application/json": runView,
      },
    },
  },
};

/** Plans, and their runs. */
export const planApi: Described = {
  operations,
  components: {
    JsonPlan: jsonPlan,
    RunBody: runBody,
    Plan: planView,
    PlanList: planList,
    Run: runView,
    Decided: decided,
  },
};
