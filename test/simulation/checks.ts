import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { expect } from "vitest";
import { type Sql, textIn } from "../../src/store/rows/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import { variableIn } from "../../src/tool/tool-output.ts";
import { History } from "../../src/turn/history/history.ts";
import { type StoredMessage, toUIMessage } from "../../src/turn/history/stored-message.ts";
import { Journal } from "../../src/turn/log/journal.ts";
import { TurnLog } from "../../src/turn/log/turn-log.ts";
import { chunkOf, type Client, messageFrom, must } from "./client.ts";
import { callsIn, committedCalls } from "./committed.ts";
import { answerId, type Request, type SimulatedObject } from "./object.ts";
import { NAMES, type Plan, type PlannedCall, type ToolName, TOOLS } from "./plan.ts";
import type { Execution, World } from "./world.ts";

/** The outcome of a conversation, without what differs from run to run. */
export interface Outcome extends Stats {
  readonly messages: readonly {
    readonly id: string;
    readonly parts: readonly unknown[];
    readonly error?: string | undefined;
    readonly stopped: boolean;
  }[];
  readonly variables: readonly unknown[];
  /** Number of tool calls that were begun. */
  readonly toolCalls: number | undefined;
}

interface Stats {
  readonly crashes: number;
  /** Number of waits at which a crash was possible. */
  readonly waits: number;
  /** Milliseconds that each recovery has waited. */
  readonly delays: readonly number[];
}

/** Checks at a crash that the object's memory agrees with the database. */
export function checkMemory({ journal, history }: SimulatedObject, sql: Sql): void {
  const written = new Journal(sql);
  same(journal.head(), written.head(), "the journal's head in memory and in the database");
  same(history.window(), new History(sql).window(), "the history in memory and in the database");
  const committed = new Set(committedCalls(sql).values());
  const rows = sql.all(`SELECT name, tool_call_id FROM variable WHERE tool_call_id IS NOT NULL`);
  for (const row of rows) {
    const [name, toolCallId] = [textIn(row, "name"), textIn(row, "tool_call_id")];
    const isKnown = committed.has(toolCallId);
    must(isKnown, `variables: $${name} is there, and the result of ${toolCallId} is not`);
  }
}

function storeOf({ database, blobs, clock }: World): VariableStore {
  return new SqlStore(database.sql, { bucket: { blobs, prefix: "" }, now: () => clock.nowMs });
}

function listOf(store: VariableStore): readonly unknown[] {
  return store.list().map(({ accessedAt: _accessed, ...info }) => info);
}

export interface End {
  readonly object: SimulatedObject;
  readonly client: Client;
  readonly world: World;
  readonly request: Request;
  /** The newest message before the request. */
  readonly before: StoredMessage | undefined;
  /** Number of crashes of the conversation so far. */
  readonly crashes: number;
}

/** Checks the state after a request was served. */
export async function checkEnd(about: End): Promise<void> {
  const { object, client, world, request } = about;
  const { sql } = world.database;
  must(object.journal.head()?.isOpen === false, "R7: the turn is still open");
  const kept = TurnLog.ended(new Journal(sql));
  same(kept.slice(0, 0), object.log.slice(0, 0), "the frames in memory and in the database");
  client.checkTakenBack(object.log);
  checkTextIds(client);
  const types = client.frames.map((frame) => chunkOf(frame).type);
  const last = types.at(-1) ?? "nothing";
  must(ENDS.has(last), `R9: the stream ends with ${last}`);
  must(types.filter((type) => ENDS.has(type)).length === 1, "R9: two ends");
  const history = new History(sql);
  must(history.has(`question-${request.turn}`), "R1: the question is gone");
  const message = history.newest();
  must(message?.id === answerId(request.turn), "R9: the answer is not kept");
  const { error, stopped } = endOf(message);
  const end = stopped ? "abort" : error === undefined ? "finish" : "error";
  must(last === end, `R9: ${last}, and the error is ${error}, stopped: ${stopped}`);
  if (last !== "finish") checkCalls(message, world.ledger);
  if (about.crashes === 0) return;
  checkMemory(object, sql);
  same(listOf(object.store), listOf(storeOf(world)), "the variables in memory and in the database");
  await checkFrames(about, message);
}

const ENDS: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

function endOf({ metadata }: StoredMessage) {
  // Written by the turn.
  const { error, stopped = false } = (metadata ?? {}) as {
    readonly error?: string;
    readonly stopped?: boolean;
  };
  return { error, stopped };
}

/** Checks that a failed or stopped turn leaves no call without an outcome, and that every outcome is true. */
function checkCalls(message: StoredMessage, ledger: readonly Execution[]): void {
  const lastStep = message.parts.filter(({ type }) => type === "step-start").length - 1;
  const calls = [...callsIn(message)];
  const lastCalls = calls.filter(([id]) => id.includes(`s${lastStep}c`));
  // If the model did not finish its answer, its calls were never looked at.
  const isUnfinished = lastCalls.every(([, { state }]) => state === "input-available");
  for (const [id, part] of calls) {
    const isBegun = ledger.some((execution) => execution.id === id);
    const isHalf = isUnfinished && !isBegun && id.includes(`s${lastStep}c`);
    must(isHalf || part.state.startsWith("output-"), `R8: ${id} ends as ${part.state}`);
    const effects = effectsOf(getToolName(part));
    must(!String(part.errorText).endsWith(" was stopped."), `R8: ${id} is said to have failed`);
    const isNotCalled = String(part.errorText).startsWith("turn_stopped");
    must(!isNotCalled || effects === "none" || !isBegun, `R8: ${id} ran, and is said not to have`);
  }
}

function effectsOf(tool: string): string {
  return tool in TOOLS ? TOOLS[tool as ToolName].effects : "none";
}

/** Checks that a text that was taken back does not continue under the same id. */
function checkTextIds({ frames }: Client): void {
  const ids = new Set<string>();
  for (const chunk of frames.map(chunkOf)) {
    if (chunk.type === "start-step") ids.clear();
    if (chunk.type !== "text-start" && chunk.type !== "reasoning-start") continue;
    must(!ids.has(chunk.id), `R2: the text ${chunk.id} begins twice in one step`);
    ids.add(chunk.id);
  }
}

/** Checks that stock clients build the displayed message from the frames. */
async function checkFrames({ object, client, request, before }: End, message: StoredMessage) {
  const shown = partsOf(toUIMessage(message, "display"));
  const all = object.log.slice(0, 0);
  same(partsOf(await messageFrom(all)), shown, "what all frames give, and the message");
  if (isDeepStrictEqual(all, client.frames)) return;
  const had =
    request.kind === "ask" || before === undefined ? undefined : toUIMessage(before, "display");
  const stitched = await messageFrom(client.frames, had);
  same(partsOf(stitched), shown, "what the client has, and the message");
}

/** Returns the parts as they are once nothing follows. */
function partsOf(message: UIMessage | undefined): readonly unknown[] {
  const parts = (message?.parts ?? []).map((part) =>
    "state" in part && part.state === "streaming" ? { ...part, state: "done" } : part,
  );
  return parts.filter((part) => !("state" in part) || part.state !== "input-streaming");
}

/** Returns the outcome of the conversation. Throws if the world has seen a broken promise. */
export async function outcomeOf(world: World, plan: Plan, stats: Stats): Promise<Outcome> {
  const { sql } = world.database;
  const { messages } = new History(sql).page({ limit: 100 });
  checkLedger(world.ledger, plan);
  for (const message of messages) checkUnknown(message, plan);
  const store = storeOf(world);
  checkResults(store, messages);
  await checkBodies(world, store);
  const variables = await Promise.all(store.list().map((info) => variableOf(info, store)));
  const toolCalls = new Journal(sql).head()?.spent.toolCalls;
  return { ...stats, messages: messages.map(comparable), variables, toolCalls };
}

function checkLedger(ledger: readonly Execution[], plan: Plan): void {
  const planned = plannedCalls(plan);
  for (const { id, toolCallId, tool, wasCommitted } of ledger) {
    must(!wasCommitted, `R3: ${id} ran again although its result was written down`);
    const call = planned.get(id);
    const isOwnKey = call?.sentId === toolCallId && call.tool === tool;
    must(isOwnKey, `R5: the key of a call of ${tool}, ${toolCallId}, stands for ${id}`);
    const times = ledger.filter((other) => other.id === id).length;
    must(effectsOf(tool) !== "once" || times === 1, `R4: ${id} ran ${times} times`);
  }
}

/**
 * Checks that the outcome of a tool that may run again is known, unless its input may have changed or the
 * turn was stopped.
 */
function checkUnknown(message: StoredMessage, plan: Plan): void {
  if (message.role !== "assistant" || endOf(message).stopped) return;
  const raced = new Set(
    plan.turns.flatMap(({ steps }) =>
      steps.flatMap(({ calls, isRaced }) => (isRaced ? calls.map(({ id }) => id) : [])),
    ),
  );
  for (const [id, part] of callsIn(message)) {
    const effects = effectsOf(getToolName(part));
    const mayBe = effects === "once" || (effects === "idempotent" && raced.has(id));
    must(mayBe || !isUnknown(part), `R4: the outcome of ${id} is unknown, though it may run again`);
  }
}

function plannedCalls({ turns }: Plan): ReadonlyMap<string, PlannedCall> {
  const calls = turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  return new Map(calls.map((call) => [call.id, call]));
}

function isUnknown(part: unknown): boolean {
  if (typeof part !== "object" || part === null || !("errorText" in part)) return false;
  return String(part.errorText).startsWith("outcome_unknown");
}

/** Checks that each variable in a result exists unless it was deleted, and that there are no others. */
function checkResults(store: VariableStore, messages: readonly StoredMessage[]): void {
  const kept = new Set<string>([NAMES[0]]);
  const deleted = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (!isToolUIPart(part) || part.state !== "output-available") continue;
    const { output } = part;
    const name = variableIn(output);
    if (name !== undefined) kept.add(name);
    if (typeof output !== "object" || output === null || !("deleted" in output)) continue;
    deleted.add(String(output.deleted));
  }
  for (const name of kept) {
    const isThere = store.info(name) !== undefined || deleted.has(name);
    must(isThere, `variables: $${name} is missing`);
  }
  for (const { name } of store.list()) {
    must(kept.has(name), `variables: $${name} is there without a result`);
  }
}

/** Sweeps, then checks that every stored body belongs to a variable or to an earlier version of one. */
async function checkBodies({ database, blobs }: World, store: VariableStore): Promise<void> {
  const { sql } = database;
  must(await store.sweep(), "garbage: not all of it can be swept");
  const hasTable = (name: string) =>
    sql.all(`SELECT 1 FROM sqlite_master WHERE name = ?`, name).length > 0;
  const rows = sql.all(`SELECT location, body_id FROM variable WHERE body_id IS NOT NULL`);
  const ofVariables = `body_id IS NOT NULL AND name IN (SELECT name FROM variable)`;
  const versions = hasTable("earlier_version")
    ? sql.all(`SELECT location, body_id FROM earlier_version WHERE ${ofVariables}`)
    : [];
  const named = [...rows, ...versions].map(
    (row) => `${textIn(row, "location")} ${textIn(row, "body_id")}`,
  );
  const chunks = hasTable("chunk") ? sql.all(`SELECT DISTINCT id FROM chunk`) : [];
  const inChunks = chunks
    .map((row) => textIn(row, "id"))
    .filter((id) => !id.startsWith("message "));
  const lying = [
    ...inChunks.map((id) => `chunks ${id}`),
    ...(await blobs.list("")).map((key) => `r2 ${key}`),
  ];
  same(lying.sort(), named.sort(), "the bodies that lie somewhere and those of variables");
}

async function variableOf(info: VariableInfo, store: VariableStore): Promise<unknown> {
  const { createdAt: _created, updatedAt: _updated, accessedAt: _accessed, ...rest } = info;
  const value = store.open(info.name);
  const bytes = (await value?.read(0, info.bytes)) ?? new Uint8Array();
  value?.close();
  return { ...rest, digest: createHash("sha256").update(bytes).digest("hex") };
}

/** Leaves out ids that each attempt generates anew. */
function comparable(message: StoredMessage) {
  const { id, parts, display, tainted } = message;
  return {
    id,
    display,
    tainted,
    ...endOf(message),
    parts: parts.map((part) => {
      if ("approval" in part && part.approval !== undefined)
        return { ...part, approval: { ...part.approval, id: "" } };
      return part.type === "reasoning" && "id" in part
        ? { ...part, id: String(part.id).replace(/[~.].*/, "") }
        : part;
    }),
  };
}

/** Compares as JSON does: what is undefined may be missing. */
function same(actual: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, `${what} differ`).toEqual(expected);
}

/**
 * Checks that both outcomes are the same, up to where a turn was stopped, an outcome is unknown, or the order
 * of calls matters.
 */
export function compare(actual: Outcome, expected: Outcome, { turns }: Plan): void {
  for (const [index, message] of actual.messages.entries()) {
    const planned = expected.messages[index];
    const end = divergence(message, turns[Math.floor(index / 2)]?.steps ?? []);
    if (end === undefined) {
      same(message, planned, `message ${index} with and without crashes`);
      continue;
    }
    const what = `message ${index} with and without crashes, before part ${end},`;
    same(message.parts.slice(0, end), planned?.parts.slice(0, end), what);
    return;
  }
  same(actual.messages.length, expected.messages.length, "messages with and without crashes");
  same(actual.variables, expected.variables, "variables with and without crashes");
  same(actual.toolCalls, expected.toolCalls, "calls of tools with and without crashes");
}

/** Returns the index of the first step that may differ, if there is one. */
function divergence(
  { id, parts, stopped }: Outcome["messages"][number],
  planned: readonly { readonly isRaced: boolean }[],
): number | undefined {
  if (!id.startsWith("answer-")) return undefined;
  const starts = parts.flatMap((part, index) => (isStepStart(part) ? [index] : []));
  const raced = starts[planned.findIndex(({ isRaced }) => isRaced)];
  const unknown = parts.findIndex(isUnknown);
  const unknownStart = starts.findLast((start) => start < unknown);
  const stoppedStart = stopped ? (starts.at(-1) ?? 0) : undefined;
  const ends = [raced, unknownStart, stoppedStart].filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function isStepStart(part: unknown): boolean {
  return typeof part === "object" && part !== null && "type" in part && part.type === "step-start";
}
