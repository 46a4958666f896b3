import { createAnthropic } from "@ai-sdk/anthropic";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tools } from "../support/conformance-cases.ts";
import { callWith } from "../support/model-call.ts";
import { endedPart } from "../support/model-conformance.ts";
import { askBothOver, type Played, startWire, type Wire } from "../support/model-wire.ts";
import {
  anthropicExchanges,
  anthropicFailures,
  anthropicMishaps,
} from "../support/model-wire-anthropic.ts";
import { shownText } from "../support/turn.ts";

let wire: Wire;

beforeAll(async () => {
  wire = await startWire();
});

afterAll(() => wire.stop());

function provider({ url }: Played) {
  return createAnthropic({ baseURL: url, apiKey: "none" });
}

const webSearch = createAnthropic({ apiKey: "none" }).tools.webSearch_20250305({});
const asked = { tools: { ...tools, web_search: webSearch } };

describe("over Anthropic's messages a stock client sees the same as with the SDK:", () => {
  it.each(anthropicExchanges)("%s", async (_, answers) => {
    const { sdk, ours } = await askBothOver(
      () => provider(wire.play(answers))("claude-test"),
      asked,
    );
    expect(ours).toEqual(sdk);
    expect(ours).toMatchObject({ errors: 0, complaints: [] });
  });

  it.each(anthropicFailures)("%s", async (_, answers) => {
    const { sdk, ours } = await askBothOver(
      () => provider(wire.play(answers))("claude-test"),
      asked,
    );
    // Byref starts a step before the model answers, the SDK when it answers.
    expect(ours.parts.slice(1)).toEqual(sdk.parts.slice(1).map(endedPart));
    expect([ours.errors, sdk.errors]).toEqual([1, 1]);
  });
});

it("Anthropic gets back what it signed, with a tool's result and with the next question", async () => {
  const exchange = anthropicExchanges.find(([name]) => name === "thinking and a tool call");
  const answers = exchange?.[1] ?? [];
  const played = wire.play([...answers, ...answers.slice(-1)]);
  const other = wire.play([...answers, ...answers.slice(-1)]);
  const sides = { sdk: other, ours: played };
  await askBothOver((side) => provider(sides[side])("claude-test"), { tools, next: "And now?" });
  const thinking = ({ requests }: Played) =>
    requests.map((request) => JSON.stringify(blocksIn(request, "thinking")));
  expect(thinking(played)).toEqual(thinking(other));
  expect(thinking(played).slice(1)).toEqual([
    expect.stringContaining("EqQBCgIYAhIM1gbcDa9GJwZA2b3h"),
    expect.stringContaining("EqQBCgIYAhIM1gbcDa9GJwZA2b3h"),
  ]);
});

describe("over Anthropic's messages a call is retried after", () => {
  it.each(anthropicMishaps)("%s", async (_, answers) => {
    const played = wire.play(answers);
    const { result, chunks } = await callWith({ model: provider(played)("claude-test"), tools });
    expect(result).toMatchObject({ finishReason: "stop", calls: [] });
    expect([shownText(chunks), played.requests.length]).toEqual(["Done.", 2]);
  });
});

/** Returns the content blocks of a type in a request. */
function blocksIn(request: string, type: string): readonly unknown[] {
  const { messages } = JSON.parse(request) as { messages: { content: { type: string }[] }[] };
  return messages.flatMap(({ content }) => content.filter((block) => block.type === type));
}
