import { describe, expect, it } from "vitest";
import { finish, type Part, text } from "../../packages/testing/src/testing.ts";
import {
  chunksOf,
  Conversation,
  dataOf,
  historyText,
  promptOf,
  readMessage,
  shownText,
  START_MS,
} from "../support/turn.ts";
import type { UIMessageChunk } from "ai";
import * as limits from "../../src/limits.ts";
import { JoinedDeltas } from "../../src/turn/answer.ts";

const MARKER = "only-in-the-value";

function say(chat: Conversation, answer: string, chunks?: number | readonly string[]) {
  const cut = chunks === undefined ? {} : { chunks };
  return chat.say({ steps: [[text(answer, cut), finish()]] });
}

describe("an answer with references", () => {
  it("is shown with their values, but stored and sent to the model as written", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "city", value: MARKER });
    const first = await say(chat, "You are in $city.", 4);
    expect(shownText(first.chunks)).toBe(`You are in ${MARKER}.`);
    expect(first.result.message.parts.at(-1)).toMatchObject({ text: `You are in ${MARKER}.` });
    const kept = chat.history.newest();
    expect(JSON.stringify(kept?.parts)).toContain("You are in $city.");
    expect(JSON.stringify(kept?.parts)).not.toContain(MARKER);
    expect(kept?.display).toEqual([`You are in ${MARKER}.`]);
    const second = await say(chat, "As I said.");
    expect(JSON.stringify(promptOf(second, 0))).toContain("You are in $city.");
    expect(JSON.stringify(promptOf(second, 0))).not.toContain(MARKER);
  });

  it("does not change when the variable changes or is deleted", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "city", value: "Rome" });
    await say(chat, "In $city.");
    await chat.store.save({ name: "city", value: "Oslo" });
    expect(chat.history.newest()?.display).toEqual(["In Rome."]);
    const later = await say(chat, "In $city.");
    expect(shownText(later.chunks)).toBe("In Oslo.");
    chat.store.delete("city");
    const displays = chat.history
      .page({ limit: 10 })
      .messages.flatMap(({ display = [] }) => display);
    expect(displays).toEqual(["In Rome.", "In Oslo."]);
  });

  it("shows each of several texts with its own values", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "a", value: 1 });
    const one = text("One is $a", { id: "1" });
    const two = text("plain", { id: "2" });
    const three = text("$a.", { id: "3" });
    const { chunks, result } = await chat.say({ steps: [[one, two, three, finish()]] });
    const { message } = await readMessage(chunks);
    const texts = ["One is 1", "plain", "1."];
    expect(message?.parts.slice(1)).toMatchObject(texts.map((text) => ({ text })));
    expect(result.message.parts).toEqual(message?.parts);
    expect(chat.history.newest()?.display).toEqual(texts);
  });

  it("leaves reasoning alone", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "a", value: 1 });
    const thought: Part[] = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "It is $a." },
      { type: "reasoning-end", id: "r" },
    ];
    const { chunks } = await chat.say({ steps: [[thought, text("$a"), finish()]] });
    expect(chunksOf(chunks, "reasoning-delta").map(({ delta }) => delta)).toEqual(["It is $a."]);
    expect(shownText(chunks)).toBe("1");
    expect(chat.history.newest()?.display).toEqual(["1"]);
  });
});

describe("a variable that no longer exists", () => {
  async function withEvicted(): Promise<Conversation> {
    const chat = new Conversation({});
    const value = { temp: 72 };
    const input = { location: "NYC" };
    await chat.store.save({ name: "nyc", value, tool: "get_weather", input, ttlMs: 1_000 });
    chat.nowMs = START_MS + 1_000;
    return chat;
  }

  it.each([true, false])(
    "stays as written in an answer, with a notice of its eviction (swept: %s)",
    async (isSwept) => {
      const chat = await withEvicted();
      if (isSwept) chat.store.evictDue(chat.nowMs, 10);
      const { chunks, result } = await say(chat, "It is $nyc.temp °F.", 3);
      expect(shownText(chunks)).toBe("It is $nyc.temp °F.");
      expect(dataOf(chunks, "data-unresolved")).toEqual([
        {
          reference: "$nyc.temp",
          code: "variable_evicted",
          message:
            "$nyc was evicted at 2026-01-01T00:00:01.000Z (expired). It came from " +
            'get_weather({"location":"NYC"}): call that again to have it back.',
        },
      ]);
      expect(chunksOf(chunks, "data-unresolved")).toMatchObject([{ transient: true }]);
      expect(result.error).toBeUndefined();
      expect(historyText(chat.history)).toContain("It is $nyc.temp °F.");
      expect(chat.history.newest()).not.toHaveProperty("display");
    },
  );
});

function joining() {
  const chunks: UIMessageChunk[] = [];
  return { chunks, joined: new JoinedDeltas((chunk) => chunks.push(chunk)) };
}

const deltaOf = (delta: string, id = "t"): UIMessageChunk => ({ type: "text-delta", id, delta });

describe("the deltas that result from one delta of the model", () => {
  it("are joined, and emitted once it is processed", () => {
    const { chunks, joined } = joining();
    void joined.during(() =>
      ["a ", "word", ", ", "word"].forEach((delta) => joined.emit(deltaOf(delta))),
    );
    expect(chunks).toEqual([deltaOf("a word, word")]);
    joined.emit(deltaOf("b"));
    joined.emit(deltaOf("c"));
    expect(chunks.slice(1)).toEqual([deltaOf("b"), deltaOf("c")]);
  });

  it("have at most the characters of a slice", () => {
    const { chunks, joined } = joining();
    const slice = deltaOf("x".repeat(limits.maxPieceChars));
    void joined.during(() => [slice, deltaOf(" "), slice].forEach(joined.emit));
    expect(chunks).toEqual([slice, deltaOf(" "), slice]);
  });
});
