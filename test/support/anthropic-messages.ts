import { fragments, INPUT_TOKENS, OUTPUT_TOKENS, type Protocol } from "./model-endpoint.ts";

/** Anthropic's Messages API, streamed. */
export const anthropicMessages: Protocol = (step, number) => {
  const blocks =
    step.kind === "calls"
      ? step.calls.map(({ name, input }, index) =>
          toolBlock(`toolu_${number}_${index}`, name, input),
        )
      : [textBlock(step.text)];
  const stopReason = step.kind === "calls" ? "tool_use" : "end_turn";
  return [
    {
      type: "message_start",
      message: {
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        model: "test-model",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: INPUT_TOKENS, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ block, deltas }, index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: OUTPUT_TOKENS },
    },
    { type: "message_stop" },
  ];
};

function textBlock(text: string) {
  return {
    block: { type: "text", text: "" },
    deltas: fragments(text).map((fragment) => ({ type: "text_delta", text: fragment })),
  };
}

function toolBlock(id: string, name: string, input: object) {
  return {
    block: { type: "tool_use", id, name, input: {} },
    deltas: fragments(JSON.stringify(input)).map((fragment) => ({
      type: "input_json_delta",
      partial_json: fragment,
    })),
  };
}
