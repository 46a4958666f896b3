import {
  type EndpointScript,
  type EndpointStep,
  fragments,
  INPUT_TOKENS,
  type ModelEndpoint,
  OUTPUT_TOKENS,
  type Protocol,
  startModelEndpoint,
} from "./model-endpoint.ts";

interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface ChatBody {
  readonly model: string;
  readonly stream: boolean;
  readonly stream_options?: { readonly include_usage: boolean };
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly {
    readonly type: "function";
    readonly function: {
      readonly name: string;
      readonly description: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    };
  }[];
}

/** The output in a result, which the list of variables may follow. */
export function outputIn(result: ChatMessage | undefined): string {
  return (result?.content ?? "").split("\n\n<variables>", 1).join("");
}

export type ChatStep = EndpointStep;
export type Script = EndpointScript<ChatBody>;
/** The `url` includes `/v1`. */
export type ChatCompletions = ModelEndpoint<ChatBody>;

/** An endpoint that speaks OpenAI's chat completions, on the loopback address. */
export async function startChatCompletions(script: Script = []): Promise<ChatCompletions> {
  const endpoint = await startModelEndpoint<ChatBody>(chatCompletions);
  endpoint.play(script);
  return Object.assign(endpoint, { url: `${endpoint.url}/v1` });
}

const usage = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
};

/** Chat completions, streamed. */
const chatCompletions: Protocol = async function* (step, number) {
  const head = { id: `chatcmpl-${number}`, object: "chat.completion.chunk", created: 1 };
  const chunk = (choices: readonly object[], more: object = {}) => ({
    ...head,
    model: "test-model",
    choices,
    ...more,
  });
  const say = (delta: object) => chunk([{ index: 0, delta, finish_reason: null }]);
  if (step.kind === "calls") {
    // Like OpenAI: first a call's id and name, then its arguments in fragments.
    for (const [index, { name, input }] of step.calls.entries()) {
      const call = { index, id: `call_${number}_${index}`, type: "function" };
      yield say({ tool_calls: [{ ...call, function: { name, arguments: "" } }] });
      for (const fragment of fragments(JSON.stringify(input))) {
        yield say({ tool_calls: [{ index, function: { arguments: fragment } }] });
      }
    }
  } else {
    const [first, second] = halves(step.text);
    yield say({ role: "assistant", content: "" });
    yield say({ content: first });
    if (step.kind === "cut") return;
    await step.hold;
    yield say({ content: second });
  }
  const reason = step.kind === "calls" ? "tool_calls" : "stop";
  yield chunk([{ index: 0, delta: {}, finish_reason: reason }]);
  yield chunk([], { usage });
  yield "[DONE]";
};

/** Cuts a text after its first dollar, the hardest place for a reference, or else in the middle. */
function halves(text: string): readonly [string, string] {
  const dollar = text.indexOf("$");
  const at = dollar === -1 ? Math.ceil(text.length / 2) : dollar + 1;
  return [text.slice(0, at), text.slice(at)];
}
