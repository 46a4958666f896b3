import { expect, it } from "vitest";
import { codeOf } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { failureOf, returning, runOnce } from "../support/wrapped.ts";

const MEGABYTE = 1_000_000;

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

it.each<[string, () => unknown]>([
  ["of JSON", () => Array.from({ length: 100 }, () => "x".repeat(MEGABYTE))],
  ["of bytes", () => new Uint8Array(100 * MEGABYTE)],
  ["in a Blob", () => new Blob([new Uint8Array(100 * MEGABYTE)])],
  ["in a stream", () => streamOf(100)],
  ["in a stream without an end", () => streamOf(Infinity)],
  ["in a Response of text", () => new Response(streamOf(100), textual)],
  ["in a Response of JSON", () => new Response(streamOf(100), json)],
  ["in a Response of records", () => new Response(streamOf(100, line), records)],
])("a tool that returns 100 MB %s fails with the limit, and nothing is kept", async (_, result) => {
  const store = new MemoryStore();
  const calling = runOnce(returning(result), {}, { store });
  const code = await calling.then(({ run }) => failureOf(run)?.code, codeOf);
  expect([code, store.count()]).toEqual(["limit_exceeded", 0]);
});
