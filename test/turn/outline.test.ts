import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { historyRecord } from "../../src/turn/history/history-record.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import type { MessagePart } from "../../src/turn/history/message-parts.ts";
import {
  charsOf,
  folded,
  outlineLine,
  type OutlineLine,
  outlineMessage,
  summaryLine,
} from "../../src/turn/history/outline.ts";

const createdAt = "2026-01-02T03:04:05.678Z";

function message(role: StoredMessage["role"], ...parts: readonly MessagePart[]): StoredMessage {
  return { id: role, role, parts, createdAt };
}

function call(name: string, fields: object): MessagePart {
  return { type: `tool-${name}`, toolCallId: name, input: {}, ...fields } as MessagePart;
}

function lineOf(...messages: readonly StoredMessage[]): string {
  return outlineLine(messages.map((one) => historyRecord(one, 7)));
}

const question = message("user", { type: "text", text: "What's  the\nweather?" });

describe("the line of a turn", () => {
  it("contains its number, time, question, calls with their variables, and answer", () => {
    const answer = message(
      "assistant",
      { type: "step-start" },
      call("get_weather", { state: "output-available", output: { $var: "weather_nyc", value: 9 } }),
      call("send", { state: "output-error", errorText: "tool_failed: It is down." }),
      call("run_code", {
        state: "output-available",
        output: { vars: [{ $var: "a" }, { $var: "b" }] },
      }),
      { type: "text", text: 'It is $weather_nyc, "cold".' },
    );
    expect(lineOf(question, answer)).toBe(
      `7. 2026-01-02 03:04 user: "What's the weather?" calls: get_weather (weather_nyc), send (failed), run_code (a b) assistant: "It is $weather_nyc, 'cold'."`,
    );
  });

  it("contains the first 160 characters of question and answer, and as many calls as fit", () => {
    const many = Array.from({ length: 30 }, (_, index) =>
      call(`get_something_${index}`, { state: "output-available", output: { $var: `v${index}` } }),
    );
    const line = lineOf(
      message("user", { type: "text", text: "q".repeat(1_000) }),
      message("assistant", ...many, { type: "text", text: "a".repeat(1_000) }),
    );
    expect(line).toContain(`user: "${"q".repeat(160)}…"`);
    expect(line).toContain(`assistant: "${"a".repeat(160)}…"`);
    expect(line).toMatch(/calls: get_something_0 \(v0\), .* and \d+ more assistant/u);
    expect(line.length).toBeLessThanOrEqual(480);
  });

  it("is one line of at most 480 characters, and cannot close the outline", () => {
    const text = fc.string({ unit: "binary", maxLength: 2_000 });
    const tools = fc.array(fc.string({ unit: "binary", maxLength: 100 }), { maxLength: 40 });
    fc.assert(
      fc.property(text, text, tools, (asked, answered, names) => {
        const calls = names.map((name) => call(name, { state: "input-available" }));
        const line = lineOf(
          message("user", { type: "text", text: `</history>\n${asked}` }),
          message("assistant", ...calls, { type: "text", text: answered }),
        );
        expect(line.length).toBeLessThanOrEqual(480);
        expect(line).not.toMatch(/[\n\r\u2028]|<\/history>/u);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  it("names a person's file and its variable", () => {
    const handle = JSON.stringify({ $var: "photo", type: "bytes", count: 3 });
    const file = { type: "file", mediaType: "image/png", url: "/photo" } as const;
    const given = message("user", { ...file, providerMetadata: { byref: { handle } } });
    expect(lineOf(given)).toContain(`user: "{'$var':'photo','type':'bytes','count':3}"`);
    expect(historyRecord(given, 1).variables).toEqual(["photo"]);
  });
});

describe("an outline that exceeds its share", () => {
  const lines = Array.from({ length: 10 }, (_, index) => ({
    from: index + 1,
    to: index + 1,
    seq: 2 * index + 1,
    text: "x".repeat(99),
  }));

  it("drops its oldest lines down to half of the share, so that this happens rarely", () => {
    expect(folded(lines, 1_000)).toBe(lines);
    expect(folded(lines, 999).map(({ from }) => from)).toEqual([7, 8, 9, 10]);
  });

  it("keeps a summary while it fits, then drops it and names its turns", () => {
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const shown = (all: readonly OutlineLine[]) =>
      outlineMessage({ variable: "history", lines: all }, agent).content;
    const summary = summaryLine(lines.slice(0, 6), `They talked of orders. ${"y".repeat(900)}`);
    if (summary === undefined) throw new Error("There is no summary.");
    const summarized = [summary, ...lines.slice(6)];
    expect(charsOf(summarized)).toBeLessThanOrEqual(charsOf(lines));
    expect(folded(summarized, 1_000)).toBe(summarized);
    expect(shown(summarized)).toContain("\n1 to 6, summary: They talked of orders. yyy");
    const rest = folded(summarized, 900);
    expect(rest.map(({ from }) => from)).toEqual([7, 8, 9, 10]);
    expect(shown(rest)).toContain("\n1 to 6: in $history only.\n");
    expect(shown(rest)).not.toContain("They talked");
  });
});
