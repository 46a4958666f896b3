import type { ModelMessage, ToolResultPart } from "ai";
import { describe, expect, it } from "vitest";
import { showsUntrusted } from "../../src/agent/step-prompt.ts";

describe("a result in the history", () => {
  const value = { found: 1 };
  const policies = { look: { trusted: false } };
  it.each<[string, ToolResultPart["output"], object, boolean]>([
    ["of a trusted tool", { type: "json", value: { $var: "x", value } }, {}, false],
    ["with the mark", { type: "json", value: { $var: "x", value, untrusted: true } }, {}, true],
    ["as text with the mark", { type: "text", value: "$x, untrusted: a" }, {}, true],
    ["as text without it", { type: "text", value: "$x: a, untrusted: b" }, {}, false],
    [
      "as content with the mark",
      { type: "content", value: [{ type: "text", text: "$x, untrusted:" }] },
      {},
      true,
    ],
    ["of an untrusted tool", { type: "text", value: "a" }, { policies }, true],
    ["that failed, of an untrusted tool", { type: "error-text", value: "a" }, { policies }, true],
    [
      "that is hidden",
      { type: "json", value: { $var: "x", visibility: "hidden" } },
      { policies },
      false,
    ],
    [
      "that failed, where untrusted results are hidden",
      { type: "error-text", value: "a" },
      { policies, untrusted: "hide" },
      false,
    ],
  ])("%s", (...row) => {
    const [, output, options, isUntrusted] = row;
    const part = { type: "tool-result", toolCallId: "1", toolName: "look", output } as const;
    const messages: ModelMessage[] = [
      { role: "user", content: "Go." },
      { role: "tool", content: [part] },
    ];
    expect(showsUntrusted(messages, options)).toBe(isUntrusted);
  });
});
