import assert from "node:assert/strict";
import { tool } from "ai";
import { z } from "zod";
import { codeOf } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { countOf, type Json } from "../../src/value/json.ts";
import { DUE_VARIABLES, type Opened, order } from "./large-conversation.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "./turn.ts";

/** An operation on a large conversation. Fails if its result is wrong. */
export type Operation = readonly [name: string, work: () => Promise<unknown> | unknown];

export interface Clock {
  nowMs: number;
}

/** Operations of an agent, a client and the alarm on a conversation from `fillingSteps`. */
export function operationsOn(opened: Opened, clock: Clock): readonly Operation[] {
  const { store } = opened;
  const total = store.count();
  return [
    ["list the last 20", () => expectCount(store.list({ last: 20 }), 20)],
    ["list a page of 1,000", () => expectCount(store.page({ limit: 1_000 }).variables, 1_000)],
    ["list all", () => expectCount(store.list(), total)],
    ...readings(store),
    ["append to a JSON array of 7 MiB", () => append(store)],
    ["a turn whose tool takes [0:100] of 90 MiB", () => turn(opened)],
    ["evict 1,000", () => evict(store, clock)],
    ["sweep", async () => assert(await store.sweep())],
  ];
}

function readings(store: VariableStore): readonly Operation[] {
  const count = store.info("large_records_0")?.count;
  return [
    ["90 MiB of records: [0:10]", () => expectRead(store, "large_records_0[0:10]", 10)],
    ["90 MiB of records: [-1]", () => expectRead(store, "large_records_0[-1]", 5)],
    ["90 MiB of records: [*].id", () => expectRead(store, "large_records_0[*].id", count)],
    [
      "90 MiB of text: [1000000:1001000]",
      () => expectRead(store, "large_text_1[1000000:1001000]", 1_000),
    ],
    ["90 MiB of text: the whole, refused", () => expectRefused(store)],
    ["90 MiB of records: the bytes, by the MiB", () => readThrough(store)],
    ["15 MiB of JSON: the whole", () => expectRead(store, "large_json", undefined)],
    ["15 MiB of JSON: [*].tags[0]", () => expectRead(store, "saved_json[*].tags[0]", undefined)],
  ];
}

function expectCount(values: readonly unknown[], count: number): void {
  assert.equal(values.length, count);
}

/** The reference is written without its dollar. */
async function expectRead(store: VariableStore, reference: string, count: number | undefined) {
  const [name = ""] = reference.split("[");
  const path = parsePath(reference.slice(name.length));
  assert(path !== undefined);
  const reading = await store.readPath(name, path);
  assert(reading?.found === true);
  assert.equal(countOf(reading.value), count ?? store.info(name)?.count);
}

async function expectRefused(store: VariableStore): Promise<void> {
  const reading = async () => store.read("large_text_1");
  assert.equal(await reading().catch(codeOf), "limit_exceeded");
}

async function readThrough(store: VariableStore): Promise<void> {
  const open = store.open("large_records_0");
  assert(open !== undefined);
  const { bytes } = open.info;
  let read = 0;
  for (let from = 0; from < bytes; from += limits.maxRecordBytes) {
    const part = await open.read(from, Math.min(from + limits.maxRecordBytes, bytes));
    read += part.length;
  }
  open.close();
  assert.equal(read, bytes);
}

async function append(store: VariableStore): Promise<void> {
  const before = store.info("log")?.count ?? 0;
  const { count } = await store.save({ name: "log", value: order(before), mode: "append" });
  assert.equal(count, before + 1);
}

async function turn(opened: Opened): Promise<void> {
  await firstTurn(opened, "$large_records_0[0:100]");
}

/**
 * Runs a turn of two steps whose tool receives the rows and returns them. Returns the milliseconds to the first
 * text.
 */
async function firstTurn({ store, history }: Opened, rows: Json): Promise<number> {
  const take = tool({
    inputSchema: z.object({ rows: z.array(z.unknown()) }),
    execute: ({ rows }) => rows,
  });
  const conversation = new Conversation({ store, history, tools: { take } });
  const startMs = performance.now();
  let firstMs: number | undefined;
  const { result, chunks } = await conversation.say({
    steps: [
      [...text("I look."), ...toolCall("take", { rows }), ...finish("tool-calls")],
      [...text("The first is $take_1[0]."), ...finish()],
    ],
    onChunk: ({ type }) => {
      if (type === "text-delta") firstMs ??= performance.now() - startMs;
    },
  });
  assert.equal(result.error, undefined);
  const outputs = chunks.filter(({ type }) => type === "tool-output-available");
  assert(firstMs !== undefined && outputs.length === 1);
  return firstMs;
}

function evict(store: VariableStore, clock: Clock): void {
  const before = store.bytes();
  clock.nowMs += 2 * 3_600_000;
  expectCount(store.evictDue(clock.nowMs, 10_000), DUE_VARIABLES);
  assert(store.bytes() < before);
  assert(store.hasGarbage());
}
