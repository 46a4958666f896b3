import { describe, expect, it } from "vitest";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { ConversationData, titleOf } from "../../src/edge/conversation-data.ts";
import { WatchedSql } from "../store/watched-sql.ts";

const message = (...texts: readonly string[]): StoredMessage => ({
  id: "m",
  role: "user",
  parts: texts.map((text) => ({ type: "text" as const, text })),
  createdAt: "2026-01-01T00:00:00.000Z",
});

describe("the default title of a conversation", () => {
  it.each([
    ["Summarize my orders.", message("Summarize my orders.")],
    ["One two three", message("  One\n\n\ttwo  ", "three ")],
    ["x".repeat(200), message("x".repeat(201))],
    // It is clipped between characters.
    ["x".repeat(199), message(`${"x".repeat(199)}😀😀`)],
    ["a ".repeat(100).trim(), message("a ".repeat(1_000_000))],
    // What the person typed, if the model reads something else.
    ["My long letter", { ...message("This message is long."), display: ["My long letter"] }],
  ])("is the first message's text on one line: %s", (title, first) => {
    expect(titleOf(first)).toBe(title);
  });

  it("is read from the first message once, and again when that is edited", () => {
    const sql = new WatchedSql();
    const data = new ConversationData(sql, {
      bucket: undefined,
      retention: {},
      onAccess: () => undefined,
    });
    expect(data.summary.title).toBeNull();
    const say = (text: string, second: number) =>
      data.history.add({
        ...message(text),
        id: "m",
        createdAt: new Date(second * 1_000).toISOString(),
      });
    const long = `First ${"and more ".repeat(1_000)}`;
    say(long, 1);
    expect(data.summary.title).toMatch(/^First and more/);
    const before = sql.unitsRead;
    expect(data.summary.title).toMatch(/^First and more/);
    expect(sql.unitsRead - before).toBeLessThan(long.length);
    data.history.removeFrom("m");
    say("Second", 2);
    expect(data.summary.title).toBe("Second");
  });
});
