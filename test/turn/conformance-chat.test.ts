import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tools } from "../support/conformance-cases.ts";
import { callWith } from "../support/model-call.ts";
import {
  askBothOver,
  dataEvent,
  type Played,
  startWire,
  type Wire,
} from "../support/model-wire.ts";
import { chatExchanges, chatFailures, chatMishaps } from "../support/model-wire-chat.ts";
import { shownText } from "../support/turn.ts";

let wire: Wire;

beforeAll(async () => {
  wire = await startWire();
});

afterAll(() => wire.stop());

function model({ url }: Played) {
  return createOpenAICompatible({ name: "test", baseURL: url, includeUsage: true })("test");
}

describe("over chat completions a stock client sees the same as with the SDK:", () => {
  it.each(chatExchanges)("%s", async (_, answers) => {
    const { sdk, ours } = await askBothOver(() => model(wire.play(answers, dataEvent)));
    expect(ours).toEqual(sdk);
    expect(ours).toMatchObject({ errors: 0, complaints: [] });
  });

  it.each(chatFailures)("%s", async (_, answers) => {
    const { sdk, ours } = await askBothOver(() => model(wire.play(answers, dataEvent)));
    // Byref leaves a text that breaks off open; the SDK's provider ends it after the error.
    expect(withoutState(ours.parts)).toEqual(withoutState(sdk.parts));
    expect([ours.errors, sdk.errors]).toEqual([1, 1]);
  });
});

describe("over chat completions events may be framed in any way that the standard allows", () => {
  const [, answers] = chatExchanges[0] ?? ["", []];
  it.each<[report: string, frame: (event: string) => string]>([
    ["CRLF (miruamel/xuan#194)", (event) => event.replaceAll("\n", "\r\n")],
    ["CR alone (Soju06/codex-lb#1010)", (event) => event.replaceAll("\n", "\r")],
    ["no space (praxis-proxy/praxis#739)", (event) => event.replace("data: ", "data:")],
    ["comments between (brave/brave-browser#52830)", (event) => `: ping\n\n${event}`],
    ["fields of other names", (event) => `event: message\nid: 1\nretry: 5\n${event}`],
  ])("%s", async (_, frame) => {
    const played = wire.play(answers, (event) => frame(dataEvent(event)));
    const { result, chunks } = await callWith({ model: model(played), tools });
    expect(result).toMatchObject({ finishReason: "stop" });
    expect(shownText(chunks)).toBe("Hello, world. 🙂");
  });
});

describe("over chat completions a call is retried after", () => {
  it.each(chatMishaps)("%s", async (_, answers) => {
    const played = wire.play(answers, dataEvent);
    const { result, chunks } = await callWith({ model: model(played), tools });
    expect(result).toMatchObject({ finishReason: "stop", calls: [] });
    expect([shownText(chunks), played.requests.length]).toEqual(["Done.", 2]);
  });
});

it("a chat completions endpoint gets back the signature of a call", async () => {
  const exchange = chatExchanges.find(([name]) => name === "a call with a signature");
  const played = wire.play(exchange?.[1] ?? [], dataEvent);
  const other = wire.play(exchange?.[1] ?? [], dataEvent);
  await askBothOver((side) => model(side === "ours" ? played : other));
  expect(played.requests[1]).toContain("CiQBcsjafA");
  expect(other.requests[1]).toContain("CiQBcsjafA");
});

function withoutState(parts: readonly unknown[]): readonly unknown[] {
  return parts.map((part) => ({ ...(part as object), state: undefined }));
}
