import type * as z from "zod";
import { ByrefError, codeIn } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import {
  type Api,
  type ConversationParts,
  conversations,
  type Endpoint,
  endpoint,
  identityIn,
  parameters,
  parse,
  preferred,
  type TenantParts,
} from "../../../../src/internal-edge.ts";
import { json } from "../../../../src/internal.ts";
import { toolInputs } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import {
  agentView,
  newAgent,
  newRun,
  newSchedule,
  planOrProgram,
  programList,
  programMessage,
  programRunList,
  programRunView,
  programSource,
  programView,
  received,
  type Schedule,
  scheduleView,
  webhookView,
  type ProgramStart,
} from "./program-schemas.ts";
import { type Asking, askingIn, type Plans } from "./plans.ts";
import type { Program, ProgramRun, Trigger } from "./program-store.ts";
import { type AskedRun, Programs } from "./programs.ts";
import { AGENT_HEADER } from "./run-program-tool.ts";
import { tenantOfHook } from "./webhook-signature.ts";

const program = { "application/json": programView };
const ran = {
  "application/json": programRunView,
  "text/plain": parameters.text.describe("The text that the program writes, or its results"),
};

function programEndpoints({ formatOf }: ProgramSupport): readonly Endpoint<TenantParts>[] {
  return [
    endpoint(
      "GET /programs",
      {
        summary: "Lists programs by name",
        query: { agent: parameters.text.optional().describe("Those that its model may run") },
        answers: { 200: { "application/json": programList } },
      },
      ({ query: { agent } }, parts) => {
        const programs = programsOf(parts);
        const listed = agent === undefined ? programs.store.list() : programs.offeredTo(agent);
        return Response.json({ programs: listed.map(shortOf) });
      },
    ),
    endpoint(
      "PUT /programs/:program",
      {
        summary: "Keeps a plan, or what led to a value or an answer, as a program",
        query: {
          agent: parameters.text.optional(),
          check: parameters.oneOf(["true"]).optional().describe("Keeps nothing"),
        },
        content: {
          "application/json": planOrProgram,
          "application/xml": parameters.text.describe("A capability workflow"),
          "text/markdown": parameters.text.describe("A template"),
        },
        answers: { 200: program },
      },
      async ({ params, query: { agent, check }, request, text }, parts) => {
        const { format } = formatOf(request);
        const written = await text();
        const given = format === "json" ? json.jsonIn(written) : undefined;
        const from = sourceIn(given, "from", programSource);
        const asks = sourceIn(given, "message", programMessage);
        const source = from ?? { format: asks ? ("message" as const) : format, text: written };
        const asker = identityIn(request.headers, parts.context);
        const programs = programsOf(parts);
        const about = { source, asker, ...json.compact({ agent }) };
        const keeps = check === undefined;
        const put = await programs.put(nameIn(params.program), { ...about, keeps });
        return Response.json(viewOf(programs, put.program, put.text));
      },
    ),
    endpoint(
      "GET /programs/:program",
      {
        summary: "Returns a program",
        query: { version: parameters.wholeNumber(1).optional() },
        answers: { 200: program },
      },
      ({ params, query: { version } }, parts) => {
        const programs = programsOf(parts);
        return Response.json(viewOf(programs, programs.store.required(params.program, version)));
      },
    ),
    endpoint(
      "DELETE /programs/:program",
      {
        summary: "Deletes a program, its schedules, webhooks and history",
        answers: { 204: "Deleted" },
      },
      ({ params }, parts) => {
        programsOf(parts).store.delete(params.program);
        return new Response(null, { status: 204 });
      },
    ),
    endpoint(
      "POST /programs/:program/runs",
      {
        summary: "Runs a program in a conversation of its own",
        headers: { "Idempotency-Key": parameters.idempotencyKey },
        body: newRun,
        isBodyOptional: true,
        answers: { 200: ran },
      },
      async ({ params, headers, body: { trusted, ...run }, request }, parts) => {
        const programs = programsOf(parts);
        const asker = identityIn(request.headers, parts.context);
        const agent = request.headers.get(AGENT_HEADER);
        const cause = agent === null ? "request" : `agent:${decodeURIComponent(agent)}`;
        const about = { asker, cause, isTrusted: trusted !== false };
        const start = { ...run, ...about, key: headers["Idempotency-Key"] };
        return respond(programs, await programs.start(params.program, start), request);
      },
    ),
    endpoint(
      "GET /programs/:program/runs",
      {
        summary: "Lists the runs of a program, newest first",
        answers: { 200: { "application/json": programRunList } },
      },
      async ({ params }, parts) => {
        const programs = programsOf(parts);
        const runs = await programs.runsOf(params.program);
        const inputOf = ({ id }: ProgramRun) =>
          programs.store.inputOf(id, limits.maxListedInputBytes);
        return Response.json({ runs: runs.map((run) => runViewOf({ run }, inputOf(run))) });
      },
    ),
    endpoint(
      "GET /programs/:program/runs/:run",
      { summary: "Returns a run of a program", answers: { 200: ran } },
      async ({ params, request }, parts) => {
        const programs = programsOf(parts);
        return respond(programs, await programs.runOf(params.program, params.run), request);
      },
    ),
    endpoint(
      "POST /programs/:program/runs/:run/retry",
      { summary: "Runs what a failed run has not done", answers: { 200: ran } },
      async ({ params, request }, parts) => {
        const programs = programsOf(parts);
        return respond(programs, await programs.retry(params.program, params.run), request);
      },
    ),
  ];
}

/** Endpoints of what starts programs: schedules, webhooks and agents. */
const triggerEndpoints: readonly Endpoint<TenantParts>[] = [
  endpoint(
    "PUT /programs/:program/schedules/:trigger",
    {
      summary: "Runs a program at the times of a cron line",
      body: newSchedule,
      answers: { 200: { "application/json": scheduleView } },
    },
    async ({ params, body, request }, parts) => {
      const asker = identityIn(request.headers, parts.context);
      const schedule = await programsOf(parts).schedule(placeOf(params), body, asker);
      return Response.json(scheduleOf(schedule));
    },
  ),
  endpoint(
    "PUT /programs/:program/webhooks/:trigger",
    {
      summary: "Adds a webhook, or gives it a new secret, which only this response shows",
      answers: { 200: { "application/json": webhookView } },
    },
    ({ params, request }, parts) => {
      const asker = identityIn(request.headers, parts.context);
      const webhook = programsOf(parts).webhook(placeOf(params), asker);
      return Response.json({ ...webhookOf(webhook), secret: webhook.secret });
    },
  ),
  endpoint(
    "PUT /programs/:program/agents/:trigger",
    {
      summary: "Lets the model of an agent run a program",
      body: newAgent,
      isBodyOptional: true,
      answers: { 200: { "application/json": agentView } },
    },
    async ({ params, body: { description }, request }, parts) => {
      const asker = identityIn(request.headers, parts.context);
      const offered = programsOf(parts).offer(placeOf(params), description, asker);
      return Response.json(agentOf(await offered));
    },
  ),
  deleteEndpoint("schedule"),
  deleteEndpoint("webhook"),
  deleteEndpoint("agent"),
  endpoint(
    "POST /hooks/:hook",
    {
      summary: "Starts a run of a webhook's program; signed as in Standard Webhooks",
      isOpen: true,
      tenantIn: tenantOfHook,
      headers: {
        "webhook-id": parameters.text.optional(),
        "webhook-timestamp": parameters.text.optional(),
        "webhook-signature": parameters.text.optional(),
      },
      content: { "application/json": toolInputs.anyJson },
      answers: { 202: { "application/json": received } },
    },
    async ({ params, headers, text }, parts) => {
      const run = await programsOf(parts).receive(params.hook, headers, await text());
      return Response.json({ run }, { status: 202 });
    },
  ),
];

function deleteEndpoint(kind: Trigger["kind"]): Endpoint<TenantParts> {
  return endpoint(
    `DELETE /programs/:program/${kind}s/:trigger`,
    { summary: `Deletes a ${kind}`, answers: { 204: "Deleted" } },
    ({ params: { program, trigger } }, parts) => {
      programsOf(parts).store.deleteTrigger(program, kind, trigger);
      return new Response(null, { status: 204 });
    },
  );
}

function placeOf({ program, trigger }: { readonly program: string; readonly trigger: string }) {
  return { program, name: nameIn(trigger) };
}

function scheduleOf({ name, createdAt, schedule, dueMs }: Trigger) {
  const nextAt = dueMs === undefined ? undefined : new Date(dueMs).toISOString();
  // A trigger of this kind has one.
  return { name, createdAt, ...(schedule as Schedule), ...json.compact({ nextAt }) };
}

function agentOf({ name, createdAt, description }: Trigger) {
  return { name, createdAt, ...json.compact({ description }) };
}

function webhookOf({ name, createdAt, hook = "" }: Trigger) {
  return { name, createdAt, path: `/hooks/${encodeURIComponent(hook)}` };
}

/** What the object of a tenant asks a conversation. It has written the bodies. */
function conversationEndpoints({
  plansOf,
}: ProgramSupport): readonly Endpoint<ConversationParts>[] {
  const internal = <Body>(
    what: string,
    answer: (plans: Plans, body: Body, asking: Asking, parts: ConversationParts) => unknown,
  ): Endpoint<ConversationParts> => ({
    method: "POST",
    path: `/conversations/:id/programs/${what}`,
    summary: "",
    answers: {},
    async handle({ request, params: { id = "" }, text }, parts) {
      if (what === "source") parts.context.requireExisting();
      const body = json.parsedJson(await text()) as unknown as Body;
      const asking = askingIn(id, request, parts);
      return Response.json(await answer(plansOf(parts), body, asking, parts));
    },
  });
  return [
    internal("source", (plans, body: Parameters<Plans["writeProgram"]>[0], asking) =>
      plans.writeProgram(body, asking),
    ),
    internal("check", (plans, body: Parameters<Plans["checkProgram"]>[0], asking) =>
      plans.checkProgram(body, asking),
    ),
    internal("agent", (plans, body: { readonly agent: string }, asking) =>
      plans.requireRunsPrograms(body, asking),
    ),
    internal("run", (plans, body: ProgramStart, asking, { turns }) =>
      plans.runProgram(body, asking, turns),
    ),
  ];
}

interface ProgramSupport {
  readonly plansOf: (parts: ConversationParts) => Plans;
  readonly formatOf: (request: Request) => PlanFormat;
}

export function programApi(support: ProgramSupport): Api {
  return {
    tenant: [...programEndpoints(support), ...triggerEndpoints],
    internal: conversationEndpoints(support),
    components: {
      WrittenProgram: planOrProgram,
      NewProgramRun: newRun,
      Program: programView,
      ProgramList: programList,
      ProgramRun: programRunView,
      ProgramRunList: programRunList,
      NewSchedule: newSchedule,
      Schedule: scheduleView,
      Webhook: webhookView,
      ProgramAgent: agentView,
    },
  };
}

function programsOf({ feature }: TenantParts): Programs {
  if (feature instanceof Programs) return feature;
  throw new Error("This application has no programs.");
}

/** Undefined for what has not this key, such as a plan itself. Throws `bad_request`. */
export function sourceIn<Source extends z.ZodType>(value: unknown, key: string, source: Source) {
  return json.isObject(value) && key in value ? parse(source, value) : undefined;
}

function shortOf(program: Program) {
  const { series: _1, format: _2, calls: _3, findings: _4, ...short } = program;
  return short;
}

function viewOf(
  { store }: Programs,
  program: Program,
  text = store.textOf(program.name, program.version),
): z.infer<ReturnType<typeof programView>> {
  const { series: _, ...shown } = program;
  const { name, format } = shown;
  const isJson = format === "json" || format === "message";
  return {
    ...shown,
    plan: isJson ? json.parsedJson(text) : text,
    versions: [...store.versionsOf(name)],
    schedules: store.triggers(name, "schedule").map(scheduleOf),
    webhooks: store.triggers(name, "webhook").map(webhookOf),
    agents: store.triggers(name, "agent").map(agentOf),
  };
}

function runViewOf(
  { run, outcome }: AskedRun,
  input: Json | undefined,
): z.infer<ReturnType<typeof programRunView>> {
  const { id, program, version, cause, conversation, status, createdMs, endedMs, error } = run;
  const { state, calls } = outcome?.run ?? {};
  const { visibility = "model", trusted = true } = outcome?.labels ?? {};
  const labels = {
    ...(!trusted && { untrusted: true as const }),
    ...(visibility !== "model" && { visibility }),
  };
  const ms = endedMs === undefined ? undefined : endedMs - createdMs;
  const endedAt = endedMs === undefined ? undefined : new Date(endedMs).toISOString();
  const createdAt = new Date(createdMs).toISOString();
  const more = json.compact({ endedAt, ms, input, error, state, calls, text: outcome?.text });
  return { id, program, version, cause, conversation, status, createdAt, ...more, ...labels };
}

/** Responds in the form that `Accept` requests. As text, a failed run is an error. */
function respond({ store }: Programs, asked: AskedRun, { headers }: Request): Response {
  const { run, outcome } = asked;
  const location = `/programs/${run.program}/runs/${run.id}`;
  const type = preferred(headers.get("accept"), ["application/json", "text/plain"]);
  if (type === "application/json") {
    return Response.json(runViewOf(asked, store.inputOf(run.id)), { headers: { location } });
  }
  if (run.status === "waiting" || run.status === "running") {
    const message = `The run ${location} is ${run.status}; it is the conversation ${run.conversation}.`;
    throw new ByrefError(run.status === "waiting" ? "approval_required" : "conflict", message);
  }
  if (run.status !== "done") {
    const reason = run.error ?? `The run was ${run.status}.`;
    const [, code = ""] = /(?:^|: )(\w+): /u.exec(reason) ?? [];
    throw new ByrefError(codeIn(`${code}:`), reason);
  }
  const text = outcome?.text ?? JSON.stringify(outcome?.run.state ?? null);
  const plain = { "content-type": "text/plain; charset=utf-8", location };
  return new Response(text, { headers: plain });
}

/** A name is a part of the ids of the conversations in which it runs. */
function nameIn(name: string): string {
  if (name.length <= MAX_NAME_CHARS) return conversations.requireId(name);
  throw new ByrefError("bad_request", `A program's name has at most ${MAX_NAME_CHARS} characters.`);
}

const MAX_NAME_CHARS = 100;
