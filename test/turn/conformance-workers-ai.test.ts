import { describe, expect, it } from "vitest";
import { createWorkersAI, type WorkersAISettings } from "workers-ai-provider";
import { tools } from "../support/conformance-cases.ts";
import { callWith } from "../support/model-call.ts";
import { type Answer, askBothOver, dataEvent } from "../support/model-wire.ts";
import { workersAiExchanges, workersAiMishaps } from "../support/model-wire-workers-ai.ts";
import { shownText } from "../support/turn.ts";

/** Creates a model whose binding returns these answers as bytes, in order. */
function model(answers: readonly (Answer | Error)[]) {
  let calls = 0;
  const run = () => {
    const answer = answers[calls++];
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(answer === undefined ? undefined : bytesOf(answer));
  };
  // The provider calls no other method of the binding.
  const binding = { run } as unknown as NonNullable<WorkersAISettings["binding"]>;
  return { model: createWorkersAI({ binding })("@cf/test"), calls: () => calls };
}

function bytesOf(answer: Answer): ReadableStream<Uint8Array> {
  const events = "cut" in answer ? answer.cut : answer;
  const pieces = new TextEncoder().encode(events.map(dataEvent).join(""));
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.subarray(at, (at += 97));
      if (piece.length > 0) controller.enqueue(piece);
      else if ("cut" in answer) controller.error(new Error("Network connection lost."));
      else controller.close();
    },
  });
}

describe("over Workers AI a stock client sees the same as with the SDK:", () => {
  it.each(workersAiExchanges)("%s", async (_, answers) => {
    const { sdk, ours } = await askBothOver(() => model(answers).model);
    expect(ours).toEqual(sdk);
    expect(ours).toMatchObject({ errors: 0, complaints: [] });
  });
});

describe("over Workers AI a call is retried after", () => {
  const done = workersAiMishaps[0]?.[1][1] ?? [];
  const upstream = Object.assign(
    new Error("3040: Capacity temporarily exceeded, please try again."),
    {
      name: "InferenceUpstreamError",
    },
  );

  it.each<readonly [string, readonly (Answer | Error)[]]>([
    ...workersAiMishaps,
    ["a model without capacity", [upstream, done]],
    ["a lost connection", [new Error("Network connection lost."), done]],
  ])("%s", async (_, answers) => {
    const played = model(answers);
    const { result, chunks } = await callWith({ model: played.model, tools });
    expect(result).toMatchObject({ finishReason: "stop", calls: [] });
    expect([shownText(chunks), played.calls()]).toEqual(["Done.", 2]);
  });
});
