import { isObject } from "../../src/value/json.ts";

/** A provider's published rule for the messages of a request. */
export interface Rule {
  /** A page of its documentation, or a public report of its error. */
  readonly source: string;
  /** Returns the provider's error messages. */
  readonly errors: (body: Body) => readonly string[];
}

/** The fields of any protocol that rules read. */
export interface Body {
  readonly messages?: readonly Entry[];
  readonly input?: readonly Entry[];
  readonly tools?: readonly unknown[];
}

interface Entry {
  readonly role?: string;
  readonly type?: string;
  readonly content?: string | readonly Block[] | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly id?: string;
  readonly call_id?: string;
  readonly name?: string;
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: unknown;
  readonly is_error?: boolean;
  readonly signature?: string;
}

const issue = (path: string) => `https://github.com/${path}`;

/** Returns the errors of those that `isWrong` finds. */
function wrong<Item>(
  items: readonly Item[],
  isWrong: (item: Item, at: number) => boolean,
  say: (at: number, item: Item) => string,
): readonly string[] {
  return items.flatMap((item, at) => (isWrong(item, at) ? say(at, item) : []));
}

function blocksOf({ content }: Entry): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content ?? [];
}

const messagesOf = ({ messages = [] }: Body) => messages;

/** All strings in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const hasLoneSurrogate = (value: unknown) => textsIn(value).some((text) => !text.isWellFormed());

function isRepeated<Item>(item: Item, at: number, all: readonly Item[]): boolean {
  return all.indexOf(item) < at;
}

function isObjectText(text: string): boolean {
  const value: unknown = JSON.parse(text);
  return isObject(value) && !Array.isArray(value);
}

const usesIn = (entry: Entry | undefined) =>
  entry === undefined ? [] : blocksOf(entry).filter(({ type }) => type === "tool_use");
const resultsIn = (entry: Entry | undefined) =>
  entry === undefined ? [] : blocksOf(entry).filter(({ type }) => type === "tool_result");

/** Anthropic's Messages API. */
export const anthropicRules: readonly Rule[] = [
  {
    source: issue("tailcallhq/forgecode/issues/2107"),
    errors: (body) =>
      wrong(
        messagesOf(body),
        (entry) =>
          entry.role === "assistant" && blocksOf(entry).at(-1)?.type.includes("thinking") === true,
        (at) => `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`,
      ),
  },
  {
    source: issue("vercel/ai/issues/5576"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(blocksOf),
        ({ type, text }) => type === "text" && text === "",
        () => "messages: text content blocks must be non-empty",
      ),
  },
  {
    source: issue("LibreChat-AI/agents/pull/124"),
    errors: (body) =>
      wrong(
        messagesOf(body).map((entry) => blocksOf(entry).filter(({ type }) => type === "text")),
        (texts) => texts.length > 0 && texts.every(({ text = "" }) => /^[\s\p{Cf}]*$/u.test(text)),
        () => "messages: text content blocks must contain non-whitespace text",
      ),
  },
  {
    source: issue("vercel/ai/issues/17769"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(usesIn),
        ({ name = "" }) => !/^[a-zA-Z0-9_-]{1,64}$/u.test(name),
        () => "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
      ),
  },
  {
    source: issue("vybestack/llxprt-code/issues/964"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(usesIn),
        ({ id = "" }) => !/^[a-zA-Z0-9_-]+$/u.test(id),
        () => "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
      ),
  },
  {
    source: issue("trycua/cua/issues/524"),
    errors: (body) =>
      wrong(
        messagesOf(body)
          .flatMap(usesIn)
          .map(({ id }) => id),
        (id, at) =>
          isRepeated(
            id,
            at,
            messagesOf(body)
              .flatMap(usesIn)
              .map((use) => use.id),
          ),
        () => "messages: `tool_use` ids must be unique",
      ),
  },
  {
    source: "https://docs.anthropic.com/en/api/messages",
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(usesIn),
        ({ input }) => !isObject(input) || Array.isArray(input),
        () => "tool_use.input: Input should be a valid dictionary",
      ),
  },
  {
    source: issue("anthropics/anthropic-sdk-typescript/issues/653"),
    errors: (body) =>
      wrong(
        messagesOf(body),
        (entry, at) => {
          const uses = usesIn(entry).map(({ id }) => id);
          const next = messagesOf(body)[at + 1];
          const first = next === undefined ? [] : blocksOf(next).slice(0, uses.length);
          const found = new Set(first.map(({ tool_use_id: id }) => id));
          return uses.some((id) => !found.has(id));
        },
        (at) =>
          `messages.${at + 1}: Did not find tool_result block(s) at the beginning of this message.`,
      ),
  },
  {
    source: issue("vybestack/llxprt-code/issues/915"),
    errors: (body) =>
      wrong(
        messagesOf(body),
        (entry, at) => {
          const uses = new Set(usesIn(messagesOf(body)[at - 1]).map(({ id }) => id));
          return resultsIn(entry).some(({ tool_use_id: id }) => !uses.has(id));
        },
        (at) => `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks`,
      ),
  },
  {
    source: issue("jlevy/markform/issues/153"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(resultsIn),
        ({ content, is_error: isError }) => isError === true && textsIn(content).join("") === "",
        () => "tool_result: content cannot be empty if `is_error` is true",
      ),
  },
  {
    source: issue("anthropics/claude-code/issues/3277"),
    errors: (body) =>
      hasLoneSurrogate(body.messages)
        ? ["The request body is not valid JSON: no low surrogate in string"]
        : [],
  },
  {
    source: "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking",
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(blocksOf),
        ({ type, signature }) => type === "thinking" && signature !== SIGNATURE,
        () => "Invalid `signature` in `thinking` block",
      ),
  },
  {
    source: issue("laravel/ai/pull/493"),
    errors: (body) =>
      wrong(
        messagesOf(body).slice(0, -1),
        (entry) => {
          const blocks = blocksOf(entry);
          const done = new Set(blocks.map(({ tool_use_id: id }) => id));
          return blocks.some(({ type, id }) => type === "server_tool_use" && !done.has(id));
        },
        (at) => `messages.${at}: server tool use was found without a corresponding result block`,
      ),
  },
];

/** The only signature of thinking that the strict server takes. */
export const SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h";

const callsIn = (entry: Entry | undefined) => entry?.tool_calls ?? [];

/** OpenAI's chat completions. */
export const chatRules: readonly Rule[] = [
  {
    source: issue("vybestack/llxprt-code/issues/915"),
    errors: (body) =>
      wrong(
        messagesOf(body),
        (entry, at) => {
          const after = messagesOf(body).slice(at + 1, at + 1 + callsIn(entry).length);
          const found = new Set(after.map(({ tool_call_id: id }) => id));
          return callsIn(entry).some(({ id }) => !found.has(id));
        },
        () =>
          "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      ),
  },
  {
    source: "https://platform.openai.com/docs/guides/function-calling",
    errors: (body) =>
      wrong(
        messagesOf(body),
        ({ role }, at) => {
          const before = messagesOf(body)[at - 1];
          return role === "tool" && callsIn(before).length === 0 && before?.role !== "tool";
        },
        (at) =>
          `Invalid parameter: messages[${at}] with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
      ),
  },
  {
    source: issue("vercel/ai/issues/5171"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(callsIn),
        ({ id }) => id.length > 40,
        () =>
          "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
      ),
  },
  {
    source: issue("vercel/ai/issues/17769"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(callsIn),
        (call) => !/^[a-zA-Z0-9_-]{1,64}$/u.test(call.function.name),
        () =>
          "Invalid 'messages[0].tool_calls[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.",
      ),
  },
  {
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    errors: (body) =>
      wrong(
        messagesOf(body),
        (entry) => entry.content == null && callsIn(entry).length === 0,
        (at) => `Invalid value for 'messages[${at}].content': expected a string, got null.`,
      ),
  },
];

const OPENAI_ITEMS = new Set<unknown>(["function_call", "message", "reasoning"]);

/** OpenAI's Responses API. */
export const responsesRules: readonly Rule[] = [
  {
    source: issue("vercel/ai/issues/7099"),
    errors: ({ input = [] }) =>
      wrong(
        input,
        ({ type }, at) => {
          const { type: next, role } = input[at + 1] ?? {};
          return type === "reasoning" && !OPENAI_ITEMS.has(next) && role !== "assistant";
        },
        (_, { id }) =>
          `Item '${id}' of type 'reasoning' was provided without its required following item.`,
      ),
  },
  {
    source: issue("openai/openai-agents-python/issues/673"),
    errors: ({ input = [] }) =>
      wrong(
        input,
        ({ type, call_id: id }) =>
          type === "function_call" &&
          input.filter((item) => item.type === "function_call_output" && item.call_id === id)
            .length !== 1,
        (_, { call_id: id }) => `No tool output found for function call ${id}.`,
      ),
  },
  {
    source: "https://platform.openai.com/docs/guides/function-calling?api-mode=responses",
    errors: ({ input = [] }) =>
      wrong(
        input,
        ({ type, call_id: id }) =>
          type === "function_call_output" &&
          !input.some((item) => item.type === "function_call" && item.call_id === id),
        (_, { call_id: id }) => `No tool call found for function call output with call_id ${id}.`,
      ),
  },
  {
    source: issue("openclaw/openclaw/pull/875"),
    errors: ({ input = [] }) =>
      wrong(
        input,
        ({ call_id: id = "call" }) => id.length > 64,
        (at) =>
          `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64.`,
      ),
  },
  {
    source: issue("vercel/ai/issues/17769"),
    errors: ({ input = [] }) =>
      wrong(
        input,
        ({ type, name = "" }) => type === "function_call" && !/^[a-zA-Z0-9_-]{1,64}$/u.test(name),
        (at) => `Invalid 'input[${at}].name': string does not match pattern '^[a-zA-Z0-9_-]+$'.`,
      ),
  },
];

/** Messages that templates count: without results, and without answers that call. */
function turnsIn(body: Body): readonly Entry[] {
  return messagesOf(body).filter(
    (entry) => entry.role !== "system" && entry.role !== "tool" && callsIn(entry).length === 0,
  );
}

const alternates = (source: string): Rule => ({
  source,
  errors: (body) =>
    wrong(
      turnsIn(body),
      ({ role }, at) => (role === "user") !== (at % 2 === 0),
      () => "Conversation roles must alternate user/assistant/user/assistant/...",
    ),
});

/** A template of Gemma, as vLLM serves it. */
export const gemmaRules: readonly Rule[] = [
  alternates(
    issue("vllm-project/vllm/blob/main/examples/tool_chat_template_gemma3_pythonic.jinja"),
  ),
  {
    source: issue("vllm-project/vllm/blob/main/examples/tool_chat_template_gemma3_pythonic.jinja"),
    errors: (body) =>
      wrong(
        messagesOf(body).flatMap(callsIn),
        (call) => !isObjectText(call.function.arguments),
        () => "Invalid arguments: they are no mapping.",
      ),
  },
];

/** Mistral's own API, and vLLM with Mistral's tokenizer. */
export const mistralRules: readonly Rule[] = [
  alternates(issue("vllm-project/vllm/issues/6862")),
  {
    source: issue("anomalyco/opencode/issues/1680"),
    errors: (body) =>
      wrong(
        messagesOf(body)
          .flatMap((entry) => [...callsIn(entry).map(({ id }) => id), entry.tool_call_id ?? []])
          .flat(),
        (id) => !/^[a-zA-Z0-9]{9}$/u.test(id),
        (_, id) => `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
      ),
  },
  {
    source: issue("NousResearch/hermes-agent/issues/20154"),
    errors: (body) =>
      wrong(
        messagesOf(body),
        ({ role }, at) => role === "user" && messagesOf(body)[at - 1]?.role === "tool",
        () => "Unexpected role 'user' after role 'tool'",
      ),
  },
  {
    source: issue("0xPlaygrounds/rig/pull/1130"),
    errors: (body) =>
      wrong(
        messagesOf(body).slice(-1),
        ({ role }) => role !== "user" && role !== "tool",
        () =>
          "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      ),
  },
];

/** A message in the form of Google or Bedrock, of which consecutive ones with one role are one. */
interface Content {
  readonly role: "user" | "model";
  readonly texts: readonly string[];
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly input: unknown;
  }[];
  readonly results: readonly { readonly id: string; readonly text: string }[];
}

/** Converts chat messages as the gateways of Google and Bedrock do. */
function contentsOf(body: Body): readonly Content[] {
  const contents: Content[] = [];
  for (const entry of messagesOf(body)) {
    if (entry.role === "system") continue;
    const texts = blocksOf(entry).flatMap(({ text }) => text ?? []);
    const isResult = entry.role === "tool";
    const content: Content = {
      role: entry.role === "assistant" ? "model" : "user",
      texts: isResult || (entry.content ?? "") === "" ? [] : texts,
      calls: callsIn(entry).map(({ id, function: { name, arguments: input } }) => ({
        id,
        name,
        input: JSON.parse(input) as unknown,
      })),
      results: isResult ? [{ id: entry.tool_call_id ?? "", text: texts.join("") }] : [],
    };
    const last = contents.at(-1);
    if (last?.role !== content.role) contents.push(content);
    else
      contents[contents.length - 1] = {
        role: last.role,
        texts: [...last.texts, ...content.texts],
        calls: [...last.calls, ...content.calls],
        results: [...last.results, ...content.results],
      };
  }
  return contents;
}

const isNoObject = (value: unknown) => !isObject(value) || Array.isArray(value);

/** Google's generateContent. */
export const googleRules: readonly Rule[] = [
  {
    source: issue("google-gemini/gemini-cli/issues/26486"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ calls }, at) => calls.length > 0 && at === 0,
        () =>
          "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      ),
  },
  {
    source: issue("google-gemini/gemini-cli/issues/26956"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ calls }, at) => calls.length !== (contentsOf(body)[at + 1]?.results.length ?? 0),
        () =>
          "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      ),
  },
  {
    source: issue("kaitranntt/ccs/issues/25"),
    errors: (body) =>
      wrong(
        contentsOf(body).flatMap(({ calls }) => calls),
        ({ name }) => !/^[a-zA-Z_][\w.:-]{0,63}$/u.test(name),
        () => "Invalid function name. Must start with a letter or an underscore.",
      ),
  },
  {
    source: "https://ai.google.dev/api/caching#FunctionCall",
    errors: (body) =>
      wrong(
        contentsOf(body).flatMap(({ calls }) => calls),
        ({ input }) => isNoObject(input),
        () =>
          "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct)",
      ),
  },
  {
    source: issue("crewAIInc/crewAI/pull/6973"),
    errors: (body) =>
      wrong(
        contentsOf(body).slice(-1),
        ({ role }) => role !== "user",
        () =>
          "Please ensure that single turn requests end with a user role or the role field is empty.",
      ),
  },
  {
    source: "https://ai.google.dev/api/generate-content",
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ texts, calls, results }) =>
          texts.length + calls.length + results.length === 0 || texts.includes(""),
        (at) => `contents[${at}].parts must not be empty.`,
      ),
  },
];

/** Bedrock's Converse. */
export const bedrockRules: readonly Rule[] = [
  {
    source: issue("langchain-ai/langchain-aws/issues/403"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ texts, results }) =>
          [...texts, ...results.map(({ text }) => text)].some((text) =>
            /^[\s\p{Cf}]*$/u.test(text),
          ),
        (at) =>
          `The text field in the ContentBlock object at messages.${at}.content.0 is blank. Add text to the text field, and try again.`,
      ),
  },
  {
    source: issue("langchain-ai/langchain/issues/26968"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ texts, calls, results }) => texts.length + calls.length + results.length === 0,
        (at) => `The content field in the Message object at messages.${at} is empty.`,
      ),
  },
  {
    source: issue("strands-agents/harness-sdk/issues/1435"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ results }, at) => results.length !== (contentsOf(body)[at - 1]?.calls.length ?? 0),
        (at) =>
          `The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`,
      ),
  },
  {
    source: issue("langgenius/dify/issues/17545"),
    errors: (body) =>
      wrong(
        contentsOf(body),
        ({ calls }) => calls.length > 0 && (body.tools ?? []).length === 0,
        () =>
          "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
      ),
  },
  {
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html",
    errors: (body) =>
      wrong(
        contentsOf(body).flatMap(({ calls }) => calls),
        ({ id, name, input }) =>
          !/^[\w-]{1,64}$/u.test(id) || !/^[\w-]{1,64}$/u.test(name) || isNoObject(input),
        () =>
          "Value at 'messages.1.member.content.1.member.toolUse' failed to satisfy constraint: [a-zA-Z0-9_-]+",
      ),
  },
];
