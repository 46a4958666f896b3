import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { expectOutcome } from "../support/fault-turn.ts";
import { finish, type Script, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

const MEGABYTE = 1_000_000;
const asked = finish("tool-calls");
const said: Script = [text("Hello."), finish()];

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
});
