import type { TextStreamPart, ToolSet } from "ai";
import { expect, it } from "vitest";
import { expandStream, MemoryStore } from "../../src/agent.ts";

type Part = TextStreamPart<ToolSet>;

async function expanded(parts: readonly Part[]): Promise<readonly Part[]> {
  const store = new MemoryStore();
  await store.save({ name: "x", value: { n: 4 } });
  const stream = new ReadableStream<Part>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return readAll(stream.pipeThrough(expandStream(store)));
}

async function readAll(stream: ReadableStream<Part>): Promise<readonly Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

function text(id: string, ...deltas: readonly string[]): readonly Part[] {
  return [
    { type: "text-start", id },
    ...deltas.map((delta): Part => ({ type: "text-delta", id, text: delta })),
    { type: "text-end", id },
  ];
}

function said(parts: readonly Part[], id: string): string {
  return parts
    .map((part) => (part.type === "text-delta" && part.id === id ? part.text : ""))
    .join("");
}

it("emits held text before any other part", async () => {
  const [start, delta, end] = text("a", "It is $x.n");
  const other: Part = { type: "reasoning-start", id: "r" };
  if (start === undefined || delta === undefined || end === undefined) throw new Error("Three.");
  const parts = await expanded([start, delta, other, end]);
  expect(parts.map(({ type }) => type).filter((type) => type !== "text-delta")).toEqual([
    "text-start",
    "reasoning-start",
    "text-end",
  ]);
  const before = parts.slice(0, parts.indexOf(other));
  expect(said(before, "a")).toBe("It is 4");
});

it("keeps concurrent texts apart", async () => {
  const parts = await expanded([
    { type: "text-start", id: "a" },
    { type: "text-start", id: "b" },
    { type: "text-delta", id: "a", text: "one $x.n " },
    { type: "text-delta", id: "b", text: "two $x.n " },
    { type: "text-end", id: "a" },
    { type: "text-end", id: "b" },
  ]);
  expect([said(parts, "a"), said(parts, "b")]).toEqual(["one 4 ", "two 4 "]);
});

it("keeps the provider metadata at the end of a text, and adds that the text was expanded", async () => {
  const [start, ...others] = text("a", "It is $x.", "n.");
  const parts = await expanded([
    { ...start, providerMetadata: { openai: { itemId: "1" } } } as Part,
    ...others,
    ...text("b", "Nothing here."),
  ]);
  const [first, second] = parts.filter(({ type }) => type === "text-end");
  expect(first).toEqual({
    type: "text-end",
    id: "a",
    providerMetadata: { openai: { itemId: "1" }, byref: { written: "It is $x.n." } },
  });
  expect(second).toEqual({ type: "text-end", id: "b" });
});

it("shows a reference in a code block and an unknown name as they are", async () => {
  const parts = await expanded(text("a", "`$x.n` and $y.n and ", "$x.n"));
  expect(said(parts, "a")).toBe("`$x.n` and $y.n and 4");
});

it("passes a stream's error on to the reader", async () => {
  const broken = new ReadableStream<Part>({
    start: (controller) => controller.error(new Error("Broken.")),
  });
  const reading = readAll(broken.pipeThrough(expandStream(new MemoryStore())));
  await expect(reading).rejects.toThrow("Broken.");
});
