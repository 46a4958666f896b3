import type { UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { JoinedDeltas } from "../../src/turn/joined-deltas.ts";

function joining() {
  const chunks: UIMessageChunk[] = [];
  return { chunks, joined: new JoinedDeltas((chunk) => chunks.push(chunk)) };
}

const text = (delta: string, id = "t"): UIMessageChunk => ({ type: "text-delta", id, delta });
const other: UIMessageChunk = { type: "data-unresolved", data: {}, transient: true };

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

  it("do not hold text back while a value is loaded", async () => {
    const { chunks, joined } = joining();
    const loaded = Promise.withResolvers<void>();
    const writing = joined.during(() => {
      joined.emit(text("before "));
      return loaded.promise.then(() => ["word", " after"].forEach((one) => joined.emit(text(one))));
    });
    expect(chunks).toEqual([text("before ")]);
    loaded.resolve();
    await writing;
    expect(chunks).toEqual([text("before "), text("word after")]);
  });

  it("stay in order with other chunks and with other texts", () => {
    const { chunks, joined } = joining();
    const written = [text("a"), other, text("b"), text("c", "u"), text("d", "u")];
    void joined.during(() => written.forEach(joined.emit));
    expect(chunks).toEqual([text("a"), other, text("b"), text("cd", "u")]);
  });

  it("have at most the characters of a slice", () => {
    const { chunks, joined } = joining();
    const slice = text("x".repeat(limits.maxPieceChars));
    void joined.during(() => [slice, text(" "), slice].forEach(joined.emit));
    expect(chunks).toEqual([slice, text(" "), slice]);
  });

  it("are emitted up to a failing lookup", async () => {
    const { chunks, joined } = joining();
    const failing = (error: Error) => () => {
      joined.emit(text("a"));
      throw error;
    };
    expect(() => joined.during(failing(new Error("closed")))).toThrow("closed");
    const late = joined.during(() => Promise.resolve().then(failing(new Error("late"))));
    await expect(late).rejects.toThrow("late");
    expect(chunks).toEqual([text("a"), text("a")]);
  });
});
