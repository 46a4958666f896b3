import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { expectOutcome } from "../support/fault-turn.ts";
import { finish, type Script, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, resultShown, shownText } from "../support/turn.ts";

const MEGABYTE = 1_000_000;
const asked = finish("tool-calls");
const said: Script = [text("Hello."), finish()];

describe("a model that writes ten megabytes", () => {
  it.each([
    ["in pieces", 16_384],
    ["at once", 10 * MEGABYTE],
  ])("%s", async (_, chunks) => {
    const chat = new Conversation({});
    const words = "0123456789".repeat(MEGABYTE);
    const turn = await chat.say({ steps: [[text(words, { chunks }), finish()]] });
    expect(shownText(turn.chunks)).toBe(words);
    await expectOutcome(chat, turn, {
      ends: "finish",
      keeps: [`${words.length} characters`],
      calls: 1,
    });
  });
});

it("a tool call with an input of ten megabytes runs, and the turn continues", async () => {
  const words = "0123456789".repeat(MEGABYTE);
  const count = tool({ inputSchema: z.object({ s: z.string() }), execute: ({ s }) => s.length });
  const chat = new Conversation({ tools: { count } });
  const call = toolCall("count", { s: words }, { chunks: MEGABYTE });
  const turn = await chat.say({ steps: [[call, asked], said] });
  // The input exceeds maxRecordBytes, so the result is not saved. The model sees a preview of it.
  expect(turn.result.message.parts[1]).toMatchObject({
    output: { notKept: expect.stringMatching(/maxRecordBytes/u), preview: String(words.length) },
  });
  const keeps = ["count output-available", "Hello."];
  await expectOutcome(chat, turn, { ends: "finish", keeps, calls: 2 });
});

/** Streams `megabytes` in pieces of one megabyte. */
function streamOf(
  megabytes: number,
  piece: Uint8Array<ArrayBuffer> = new Uint8Array(MEGABYTE).fill(48),
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let left = megabytes;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(piece);
      else controller.close();
    },
  });
}

const textual = { headers: { "content-type": "text/plain" } };
const json = { headers: { "content-type": "application/json" } };
const records = { headers: { "content-type": "application/x-ndjson" } };
const line = new Uint8Array(new TextEncoder().encode(`"${"x".repeat(MEGABYTE - 3)}"\n`));

describe("a tool that returns 100 MB", () => {
  it("of text leads to a description that says that it was not saved", async () => {
    const execute = () => "x".repeat(100 * MEGABYTE);
    const chat = new Conversation({ tools: { act: tool({ inputSchema: z.object({}), execute }) } });
    const turn = await chat.say({ steps: [[toolCall("act", {}), asked], said] });
    expect(chat.store.count()).toBe(0);
    const shown = resultShown(turn, 1, "call_act");
    expect(shown).toMatchObject({ type: "string", count: 100 * MEGABYTE });
    expect(JSON.stringify(shown)).toContain("maxValueBytes is at most");
    expect(JSON.stringify(turn.chunks).length).toBeLessThan(10_000);
    const keeps = ["act output-available", "Hello."];
    await expectOutcome(chat, turn, { ends: "finish", keeps, calls: 2 });
  });

  it.each<[string, () => unknown]>([
    ["of JSON", () => Array.from({ length: 100 }, () => "x".repeat(MEGABYTE))],
    ["of bytes", () => new Uint8Array(100 * MEGABYTE)],
    ["in a Blob", () => new Blob([new Uint8Array(100 * MEGABYTE)])],
    ["in a stream", () => streamOf(100)],
    ["in a stream without an end", () => streamOf(Infinity)],
    ["in a Response of text", () => new Response(streamOf(100), textual)],
    ["in a Response of JSON", () => new Response(streamOf(100), json)],
    ["in a Response of records", () => new Response(streamOf(100, line), records)],
  ])("%s leads to an error, and the turn continues", async (_, execute) => {
    const chat = new Conversation({ tools: { act: tool({ inputSchema: z.object({}), execute }) } });
    const turn = await chat.say({ steps: [[toolCall("act", {}), asked], said] });
    expect(chat.store.count()).toBe(0);
    await expectOutcome(chat, turn, {
      ends: "finish",
      keeps: ["act limit_exceeded", "Hello."],
      calls: 2,
    });
  });

  it("in an error gets its message truncated", async () => {
    const execute = (): string => {
      throw new Error("x".repeat(100 * MEGABYTE));
    };
    const chat = new Conversation({ tools: { act: tool({ inputSchema: z.object({}), execute }) } });
    const turn = await chat.say({ steps: [[toolCall("act", {}), asked], said] });
    expect(JSON.stringify(turn.chunks).length).toBeLessThan(10_000);
    await expectOutcome(chat, turn, {
      ends: "finish",
      keeps: ["act tool_failed", "Hello."],
      calls: 2,
    });
  });
});
