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
