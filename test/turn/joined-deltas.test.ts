import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { JoinedDeltas } from "../../src/turn/answer.ts";

function joining() {
  const chunks: UIMessageChunk[] = [];
  return { chunks, joined: new JoinedDeltas((chunk) => chunks.push(chunk)) };
}

const text = (delta: string, id = "t"): UIMessageChunk => ({ type: "text-delta", id, delta });

describe("the deltas that result from one delta of the model", () => {
  it("are joined, and emitted once it is processed", () => {
    const { chunks, joined } = joining();
    void joined.during(() =>
      ["a ", "word", ", ", "word"].forEach((delta) => joined.emit(text(delta))),
    );
    expect(chunks).toEqual([text("a word, word")]);
    joined.emit(text("b"));
    joined.emit(text("c"));
    expect(chunks.slice(1)).toEqual([text("b"), text("c")]);
  });

  it("have at most the characters of a slice", () => {
    const { chunks, joined } = joining();
    const slice = text("x".repeat(limits.maxPieceChars));
    void joined.during(() => [slice, text(" "), slice].forEach(joined.emit));
    expect(chunks).toEqual([slice, text(" "), slice]);
  });
});
