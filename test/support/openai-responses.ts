import { fragments, INPUT_TOKENS, OUTPUT_TOKENS, type Protocol } from "./model-endpoint.ts";

/** Streams of OpenAI's Responses API. */
export const openaiResponses: Protocol = (step, number) => {
  const about = { id: `resp_${number}`, created_at: 1, model: "test-model" };
  const usage = {
    input_tokens: INPUT_TOKENS,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: OUTPUT_TOKENS,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
  };
  const events =
    step.kind === "calls"
      ? step.calls.flatMap(({ name, input }, index) =>
          callEvents({ id: `${number}_${index}`, name, input, index }),
        )
      : textEvents(`msg_${number}`, step.text);
  return [
    { type: "response.created", response: about },
    ...events,
    { type: "response.completed", response: { ...about, incomplete_details: null, usage } },
  ];
};

function textEvents(id: string, text: string) {
  const item = { type: "message", id, role: "assistant", status: "completed" };
  const at = { item_id: id, output_index: 0, content_index: 0 };
  return [
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    ...fragments(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...item, content: [{ type: "output_text", text, annotations: [] }] },
    },
  ];
}

function callEvents(call: { id: string; name: string; input: object; index: number }) {
  const { id, name, input, index } = call;
  const item = { type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name };
  const written = JSON.stringify(input);
  return [
    {
      type: "response.output_item.added",
      output_index: index,
      item: { ...item, arguments: "", status: "in_progress" },
    },
    ...fragments(written).map((delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: item.id,
      output_index: index,
      delta,
    })),
    {
      type: "response.output_item.done",
      output_index: index,
      item: { ...item, arguments: written, status: "completed" },
    },
  ];
}
