import { type ToolSet, tool } from "ai";
import { expect } from "vitest";
import * as z from "zod";
import {
  type Agent,
  capabilityWorkflows,
  planSupport,
  type RuntimeOptions,
  templates,
} from "../../src/byref.ts";
import { chunksIn, json } from "./edge.ts";
import { type OwnRuntime, withRuntime } from "./own-runtime.ts";
import { finish, scriptedModel, type ScriptedModel, type Step, text } from "./scripted-model.ts";
import { framesIn } from "./turn-client.ts";

export const ROOT = "/conversations/c";
export const PLANS = `${ROOT}/plans`;

interface ShownCall {
  readonly _id: string;
  readonly _tool: string;
  readonly status: string;
  readonly reason?: string;
}

export interface ShownRun {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly state: unknown;
  readonly calls: readonly ShownCall[];
}

export interface Finding {
  readonly code: string;
  readonly call?: string;
  readonly at?: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

export interface ShownPlan {
  readonly id: string;
  readonly status: string;
  readonly calls: readonly ShownCall[];
  readonly findings: readonly Finding[];
  readonly runs: readonly ShownRun[];
}

/** One part of a run's stream: `data-call` and `data-run`. */
interface DataPart {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type Calls = readonly Readonly<Record<string, unknown>>[];

/** The tools of `plans.json`; what they got, in order, is in `seen`. */
function plannerTools(seen: unknown[] = []): ToolSet {
  const note = (input: unknown) => void seen.push(input);
  return {
    echo: tool({
      inputSchema: z.object({ value: z.any() }),
      execute: (input): unknown => {
        note(input);
        return input.value;
      },
    }),
    add: tool({
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: (input) => {
        note(input);
        return input.a + input.b;
      },
    }),
    verify: tool({
      inputSchema: z.object({ userId: z.string() }),
      execute: ({ userId }) => {
        note({ userId });
        const value = { id: userId };
        return userId === "stranger" ? { _outputPath: "†state.user.failed", value } : value;
      },
    }),
    fail: tool({
      inputSchema: z.object({ after: z.any().optional() }),
      execute: (): unknown => {
        note("fail");
        throw new Error("boom");
      },
    }),
  };
}

export interface Planner {
  readonly own: OwnRuntime;
  readonly seen: unknown[];
  readonly model: ScriptedModel;
}

interface PlannerOptions {
  readonly tools?: ToolSet;
  readonly agent?: Partial<Agent>;
  readonly agents?: readonly Agent[];
  readonly steps?: readonly Step[];
  /** Notes what the given tools got, too. */
  readonly seen?: unknown[];
}

/** A runtime with all plan formats, an agent with the tools above and these, and a scripted model. */
export function withPlanner<Result>(
  { tools = {}, agent = {}, agents = [], steps = [], seen = [] }: PlannerOptions,
  work: (planner: Planner) => Promise<Result>,
): Promise<Result> {
  const model = scriptedModel(steps);
  const about = { name: "planner", description: "Plans.", instructions: "" };
  const options: RuntimeOptions = {
    agents: [{ ...about, tools: { ...plannerTools(seen), ...tools }, ...agent }, ...agents],
    model,
    plans: planSupport(capabilityWorkflows, templates),
  };
  return withRuntime(options, (own) => work({ own, seen, model }));
}

export const offer = (own: OwnRuntime, calls: Calls, more: object = {}) =>
  own.call("POST", PLANS, json({ calls, ...more }));

export const offerXml = (own: OwnRuntime, body: string) => offerText(own, "application/xml", body);
export const offerTemplate = (own: OwnRuntime, body: string) =>
  offerText(own, "text/markdown", body);

function offerText(own: OwnRuntime, type: string, body: string): Promise<Response> {
  return own.call("POST", PLANS, { body, headers: { "content-type": type } });
}

/** The plan that was taken. */
export async function taken(answer: Promise<Response> | Response): Promise<ShownPlan> {
  const response = await answer;
  const body = await response.text();
  expect(response.status, body).toBe(201);
  return JSON.parse(body) as ShownPlan;
}

/** The findings for which it was refused. */
export async function refused(answer: Promise<Response> | Response): Promise<readonly Finding[]> {
  const response = await answer;
  const body = await response.text();
  expect(response.status, body).toBe(422);
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  const problem = JSON.parse(body) as { readonly findings: readonly Finding[] };
  for (const field of ["type", "title", "status", "detail", "code"]) {
    expect(problem).toHaveProperty(field);
  }
  for (const { message } of problem.findings) expect(message).toMatch(/\S/);
  return problem.findings;
}

/** A problem document with this status, or any that says that the client is wrong. */
export async function problemOf(answer: Promise<Response> | Response, status?: number) {
  const response = await answer;
  const body = await response.text();
  if (status === undefined) {
    expect(response.status, body).toBeGreaterThanOrEqual(400);
    expect(response.status, body).toBeLessThan(500);
  } else expect(response.status, body).toBe(status);
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  const problem = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const strings = { type: expect.any(String), title: expect.any(String), code: expect.any(String) };
  expect(problem).toMatchObject({
    ...strings,
    detail: expect.any(String),
    status: response.status,
  });
  return problem;
}

export async function approve(own: OwnRuntime, id: string): Promise<void> {
  const response = await own.call("POST", `${PLANS}/${id}/approve`);
  expect(response.status, await response.text()).toBe(200);
}

export const startRun = (own: OwnRuntime, id: string, body: object = {}) =>
  own.call("POST", `${PLANS}/${id}/run`, json(body));

/** The frames as `chunksIn` takes them. */
function numbered(body: string) {
  return framesIn(body).map(({ id, data }) => ({ id: id === undefined ? id : Number(id), data }));
}

export function dataIn(body: string): readonly DataPart[] {
  return chunksIn(numbered(body)).flatMap((chunk) =>
    chunk.type === "data-call" || chunk.type === "data-run"
      ? [{ type: chunk.type, data: chunk.data as DataPart["data"] }]
      : [],
  );
}

export async function planAt(own: OwnRuntime, id: string): Promise<ShownPlan> {
  const response = await own.call("GET", `${PLANS}/${id}`);
  const body = await response.text();
  expect(response.status, body).toBe(200);
  return JSON.parse(body) as ShownPlan;
}

/** Runs an approved plan to its end; the run as the plan then shows it, and its stream's parts. */
export async function runPlan(own: OwnRuntime, id: string, body: object = {}) {
  const response = await startRun(own, id, body);
  const stream = await response.text();
  expect(response.status, stream).toBe(200);
  const parts = dataIn(stream);
  const last = parts.at(-1);
  expect(last?.type, stream).toBe("data-run");
  const { runs } = await planAt(own, id);
  const run = runs.find((one) => one.id === last?.data["run"]);
  if (run === undefined) throw new Error(`The plan does not show its run: ${stream}`);
  return { run, parts, stream };
}

/** Proposes, approves, runs. */
export async function carryOut(own: OwnRuntime, calls: Calls, body: object = {}) {
  const { id } = await taken(offer(own, calls));
  await approve(own, id);
  return { id, ...(await runPlan(own, id, body)) };
}

export async function carryOutText(own: OwnRuntime, answer: Promise<Response>, body: object = {}) {
  const { id } = await taken(answer);
  await approve(own, id);
  return { id, ...(await runPlan(own, id, body)) };
}

/** The statuses by the calls' own ids. */
export function statuses({ calls }: Pick<ShownRun, "calls">): Readonly<Record<string, string>> {
  return Object.fromEntries(calls.map(({ _id, status }) => [_id, status]));
}

export const callOf = ({ calls }: Pick<ShownRun, "calls">, id: string) =>
  calls.find(({ _id }) => _id === id);

/** A variable's value, or the status that says why there is none. */
export async function valueOf(own: OwnRuntime, name: string): Promise<unknown> {
  const response = await own.call("GET", `${ROOT}/variables/${name}`);
  const body = await response.text();
  if (response.status !== 200) return response.status;
  return response.headers.get("content-type")?.includes("json") === true ? JSON.parse(body) : body;
}

export async function putValue(own: OwnRuntime, name: string, value: unknown): Promise<void> {
  const response = await own.call("PUT", `${ROOT}/variables/${name}`, json(value));
  expect([200, 201], await response.text()).toContain(response.status);
}

/** Looks until it is so. */
export async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (let tries = 0; tries < 400; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("It did not become so.");
}

/** A turn by the short route, as its stream. */
export async function turnOf(own: OwnRuntime, message: string, more: object = {}) {
  const response = await own.call("POST", `${ROOT}/messages`, json({ message, ...more }));
  const body = await response.text();
  expect(response.status, body).toBe(200);
  return chunksIn(numbered(body));
}

/** All text that the n-th call of a model read. */
export function promptIn(model: ScriptedModel, call: number): string {
  const { prompt = [] } = model.calls[call] ?? {};
  return prompt
    .map(({ content }) =>
      typeof content === "string"
        ? content
        : content.map((part) => ("text" in part ? part.text : JSON.stringify(part))).join("\n"),
    )
    .join("\n\n");
}

/** What a model says, step by step. */
export const says = (...answers: readonly string[]): readonly Step[] =>
  answers.map((answer) => [text(answer), finish()]);

export const lines = (...written: readonly string[]) => written.join("\n");
