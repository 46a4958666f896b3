import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
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
  it("is its first message's text, on one line", () => {
    expect(titleOf(message("Summarize my orders."))).toBe("Summarize my orders.");
    expect(titleOf(message("  One\n\n\ttwo  ", "three "))).toBe("One two three");
  });

  it("is clipped between characters", () => {
    const { maxLineChars } = limits;
    expect(titleOf(message("x".repeat(maxLineChars)))).toBe("x".repeat(maxLineChars));
    expect(titleOf(message("x".repeat(maxLineChars + 1)))).toBe("x".repeat(maxLineChars));
    const clipped = titleOf(message(`${"x".repeat(maxLineChars - 1)}😀😀`));
    expect(clipped).toBe("x".repeat(maxLineChars - 1));
    expect(titleOf(message("a ".repeat(1_000_000)))?.length).toBeLessThanOrEqual(maxLineChars);
  });

  it("is what the person typed if the model reads something else", () => {
    const kept = message("This message is long and was kept as a variable: {…}");
    expect(titleOf({ ...kept, display: ["My long letter"] })).toBe("My long letter");
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
