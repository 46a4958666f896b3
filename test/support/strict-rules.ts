import { isObject } from "../../src/value/json.ts";
import { schemaErrors } from "./strict-schemas.ts";

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

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Described {
  readonly type?: string;
  readonly description?: string;
  readonly parameters?: object;
  readonly input_schema?: object;
  readonly function?: Described;
}

interface Entry {
  readonly role?: string;
  readonly type?: string;
  readonly content?: string | readonly Block[] | null;
  readonly tool_calls?: readonly Call[];
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

/** What a rule is about: a report or a page, and the error that the provider answers with. */
type About = readonly [source: string, error: string];

/** A rule that is broken by a body in which any of the items is wrong. */
function rule<Item>(
  [source, error]: About,
  itemsOf: (body: Body) => readonly Item[],
  isWrong: (item: Item, at: number, all: readonly Item[], body: Body) => boolean,
): Rule {
  const isBroken = (body: Body) =>
    itemsOf(body).some((item, at, all) => isWrong(item, at, all, body));
  return {
    source: source.includes("://") ? source : `https://github.com/${source}`,
    errors: (body) => (isBroken(body) ? [error] : []),
  };
}

/** What any provider refuses in a tool's schema: most servers and proxies pass it on to another. */
function schemaRule(schemaOf: (tool: Described) => object | undefined): Rule {
  const errors = ({ tools = [] }: Body) =>
    (tools as readonly Described[]).flatMap((tool) => schemaErrors(schemaOf(tool) ?? EMPTY));
  return { source: "strict-schemas.ts", errors };
}

const EMPTY = { type: "object", properties: {} };

function blocksOf({ content }: Entry): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content ?? [];
}

const messagesOf = ({ messages = [] }: Body) => messages;
const itemsOf = ({ input = [] }: Body) => input;
const allBlocksOf = (body: Body) => messagesOf(body).flatMap(blocksOf);

/** All strings in a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const isBlank = (text: string) => /^[\s\p{Cf}]*$/u.test(text);
const isNoObject = (value: unknown) => !isObject(value) || Array.isArray(value);
const isNoName = ({ name = "" }: { readonly name?: string }) =>
  !/^[a-zA-Z0-9_-]{1,64}$/u.test(name);
const usesIn = (entry: Entry | undefined) =>
  entry === undefined ? [] : blocksOf(entry).filter(({ type }) => type === "tool_use");
const allUsesIn = (body: Body) => messagesOf(body).flatMap(usesIn);
const resultsIn = (entry: Entry) => blocksOf(entry).filter(({ type }) => type === "tool_result");
const callsIn = (entry: Entry | undefined) => entry?.tool_calls ?? [];
const allCallsIn = (body: Body) => messagesOf(body).flatMap(callsIn);
const functionsIn = (body: Body) => allCallsIn(body).map((call) => call.function);

/** The only signature of thinking that the strict server takes. */
export const SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h";

const NAMES = "vercel/ai/issues/17769";
const UNANSWERED = "vybestack/llxprt-code/issues/915";

/** Anthropic's Messages API. */
export const anthropicRules: readonly Rule[] = [
  rule(
    ["tailcallhq/forgecode/issues/2107", "The final block of an answer cannot be `thinking`."],
    messagesOf,
    (entry) =>
      entry.role === "assistant" && blocksOf(entry).at(-1)?.type.includes("thinking") === true,
  ),
  rule(
    ["vercel/ai/issues/5576", "text content blocks must be non-empty"],
    allBlocksOf,
    ({ type, text }) => type === "text" && text === "",
  ),
  rule(
    ["anthropics/claude-code/issues/3196", "all messages must have non-empty content"],
    (body) => messagesOf(body).map(blocksOf),
    (blocks) => blocks.length === 0,
  ),
  rule(
    ["LibreChat-AI/agents/pull/124", "text content blocks must contain non-whitespace text"],
    (body) => messagesOf(body).map((entry) => blocksOf(entry).filter((b) => b.type === "text")),
    (texts) => texts.length > 0 && texts.every(({ text = "" }) => isBlank(text)),
  ),
  rule([NAMES, "tool_use.name: String should match a pattern"], allUsesIn, isNoName),
  schemaRule((tool) => tool.input_schema),
  rule(
    ["vybestack/llxprt-code/issues/964", "tool_use.id: String should match a pattern"],
    allUsesIn,
    ({ id = "" }) => !/^[a-zA-Z0-9_-]+$/u.test(id),
  ),
  rule(
    ["trycua/cua/issues/524", "`tool_use` ids must be unique"],
    (body) => allUsesIn(body).map(({ id }) => id),
    (id, at, ids) => ids.indexOf(id) < at,
  ),
  rule(
    ["https://docs.anthropic.com/en/api/messages", "tool_use.input should be a dictionary"],
    allUsesIn,
    ({ input }) => isNoObject(input),
  ),
  rule(
    [
      "anthropics/anthropic-sdk-typescript/issues/653",
      "Did not find tool_result block(s) at the beginning of this message.",
    ],
    messagesOf,
    (entry, at, all) => {
      const uses = usesIn(entry).map(({ id }) => id);
      const next = all[at + 1];
      const first = next === undefined ? [] : blocksOf(next).slice(0, uses.length);
      return uses.some((id) => !first.some(({ tool_use_id: answered }) => answered === id));
    },
  ),
  rule(
    [UNANSWERED, "unexpected `tool_use_id` found in `tool_result` blocks"],
    messagesOf,
    (entry, at, all) =>
      resultsIn(entry).some(
        ({ tool_use_id: id }) => !usesIn(all[at - 1]).some((use) => use.id === id),
      ),
  ),
  rule(
    ["jlevy/markform/issues/153", "tool_result: content cannot be empty if `is_error` is true"],
    (body) => messagesOf(body).flatMap(resultsIn),
    ({ content, is_error: isError }) => isError === true && textsIn(content).join("") === "",
  ),
  rule(
    ["anthropics/claude-code/issues/3277", "The body is not JSON: no low surrogate in string"],
    (body) => textsIn(body.messages),
    (text) => !text.isWellFormed(),
  ),
  rule(
    [
      "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking",
      "Invalid `signature` in `thinking` block",
    ],
    allBlocksOf,
    ({ type, signature }) => type === "thinking" && signature !== SIGNATURE,
  ),
  rule(
    ["laravel/ai/pull/493", "server tool use was found without a corresponding result block"],
    (body) => messagesOf(body).slice(0, -1),
    (entry) => {
      const blocks = blocksOf(entry);
      const done = new Set(blocks.map(({ tool_use_id: id }) => id));
      return blocks.some(({ type, id }) => type === "server_tool_use" && !done.has(id));
    },
  ),
];

/** OpenAI's chat completions. */
export const chatRules: readonly Rule[] = [
  rule(
    [UNANSWERED, "'tool_calls' must be followed by messages responding to each 'tool_call_id'."],
    messagesOf,
    (entry, at, all) => {
      const after = all.slice(at + 1, at + 1 + callsIn(entry).length);
      return callsIn(entry).some(({ id }) => !after.some(({ tool_call_id: of }) => of === id));
    },
  ),
  rule(
    [
      "https://platform.openai.com/docs/guides/function-calling",
      "A message with role 'tool' must be a response to a message with 'tool_calls'.",
    ],
    messagesOf,
    ({ role }, at, all) =>
      role === "tool" && callsIn(all[at - 1]).length === 0 && all[at - 1]?.role !== "tool",
  ),
  rule(
    ["vercel/ai/issues/5171", "tool_calls[0].id: expected a maximum length of 40."],
    allCallsIn,
    ({ id }) => id.length > 40,
  ),
  rule([NAMES, "function.name: string does not match pattern."], functionsIn, isNoName),
  rule(
    ["getsentry/sentry-mcp/issues/106", "function.description: string too long."],
    ({ tools = [] }: Body) => tools as readonly { readonly function?: Described }[],
    ({ function: { description = "" } = {} }) => description.length > 1_024,
  ),
  schemaRule((tool) => tool.function?.parameters),
  rule(
    ["apache/maka/issues/5277", "An image is sent as a text, of which each character is paid."],
    messagesOf,
    (entry) => entry.role === "tool" && textsIn(entry.content).join("").includes("iVBORw"),
  ),
  rule(
    ["https://platform.openai.com/docs/api-reference/chat/create", "expected a string, got null."],
    messagesOf,
    (entry) => entry.content == null && callsIn(entry).length === 0,
  ),
];

const OPENAI_ITEMS = new Set<unknown>(["function_call", "message", "reasoning"]);
const ofCall = (type: string, id: string | undefined) => (item: Entry) =>
  item.type === type && item.call_id === id;

/** OpenAI's Responses API. */
export const responsesRules: readonly Rule[] = [
  schemaRule(({ type, parameters }) => (type === "function" ? parameters : undefined)),
  rule(
    ["vercel/ai/issues/7099", "'reasoning' was provided without its required following item."],
    itemsOf,
    ({ type }, at, all) => {
      const { type: next, role } = all[at + 1] ?? {};
      return type === "reasoning" && !OPENAI_ITEMS.has(next) && role !== "assistant";
    },
  ),
  rule(
    ["openai/openai-agents-python/issues/673", "No tool output found for function call."],
    itemsOf,
    ({ type, call_id: id }, _, all) =>
      type === "function_call" && all.filter(ofCall("function_call_output", id)).length !== 1,
  ),
  rule(
    [
      "https://platform.openai.com/docs/guides/function-calling?api-mode=responses",
      "No tool call found for function call output.",
    ],
    itemsOf,
    ({ type, call_id: id }, _, all) =>
      type === "function_call_output" && !all.some(ofCall("function_call", id)),
  ),
  rule(
    ["openclaw/openclaw/pull/875", "call_id: expected a maximum length of 64."],
    itemsOf,
    ({ call_id: id = "call" }) => id.length > 64,
  ),
  rule(
    [NAMES, "name: string does not match pattern."],
    (body) => itemsOf(body).filter(({ type }) => type === "function_call"),
    isNoName,
  ),
];

/** Of messages that templates count: without results, and without answers that call. */
const alternates = (source: string): Rule =>
  rule(
    [source, "Conversation roles must alternate user/assistant/user/assistant/..."],
    (body) =>
      messagesOf(body).filter(
        (entry) => entry.role !== "system" && entry.role !== "tool" && callsIn(entry).length === 0,
      ),
    ({ role }, at) => (role === "user") !== (at % 2 === 0),
  );

const GEMMA = "vllm-project/vllm/blob/main/examples/tool_chat_template_gemma3_pythonic.jinja";

/** A template of Gemma, as vLLM serves it. */
export const gemmaRules: readonly Rule[] = [
  alternates(GEMMA),
  rule([GEMMA, "Invalid arguments: they are no mapping."], functionsIn, (call) =>
    isNoObject(JSON.parse(call.arguments)),
  ),
];

/** Mistral's own API, and vLLM with Mistral's tokenizer. */
export const mistralRules: readonly Rule[] = [
  alternates("vllm-project/vllm/issues/6862"),
  rule(
    ["anomalyco/opencode/issues/1680", "Tool call id must be a-z, A-Z, 0-9, with a length of 9."],
    (body) =>
      messagesOf(body).flatMap((entry) => [
        ...callsIn(entry).map(({ id }) => id),
        ...(entry.tool_call_id === undefined ? [] : [entry.tool_call_id]),
      ]),
    (id) => !/^[a-zA-Z0-9]{9}$/u.test(id),
  ),
  rule(
    ["NousResearch/hermes-agent/issues/20154", "Unexpected role 'user' after role 'tool'"],
    messagesOf,
    ({ role }, at, all) => role === "user" && all[at - 1]?.role === "tool",
  ),
  rule(
    ["0xPlaygrounds/rig/pull/1130", "Expected last role User or Tool but got assistant"],
    (body) => messagesOf(body).slice(-1),
    ({ role }) => role !== "user" && role !== "tool",
  ),
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
  readonly results: readonly string[];
}

/** Converts chat messages as the gateways of Google and Bedrock do. */
function contentsOf(body: Body): readonly Content[] {
  const contents: Content[] = [];
  for (const entry of messagesOf(body)) {
    if (entry.role === "system") continue;
    const texts = blocksOf(entry).flatMap(({ text }) => text ?? []);
    const isResult = entry.role === "tool";
    const role = entry.role === "assistant" ? "model" : "user";
    const last = contents.at(-1);
    const before = last?.role === role ? last : { texts: [], calls: [], results: [] };
    const content: Content = {
      role,
      texts: [...before.texts, ...(isResult || (entry.content ?? "") === "" ? [] : texts)],
      calls: [
        ...before.calls,
        ...callsIn(entry).map(({ id, function: { name, arguments: input } }) => ({
          id,
          name,
          input: JSON.parse(input) as unknown,
        })),
      ],
      results: [...before.results, ...(isResult ? [texts.join("")] : [])],
    };
    contents.splice(last === before ? -1 : contents.length, 1, content);
  }
  return contents;
}

const contentCallsOf = (body: Body) => contentsOf(body).flatMap(({ calls }) => calls);
const isEmpty = ({ texts, calls, results }: Content) =>
  texts.length + calls.length + results.length === 0;

/** Google's generateContent. */
export const googleRules: readonly Rule[] = [
  rule(
    [
      "google-gemini/gemini-cli/issues/26486",
      "A function call turn comes immediately after a user turn or a function response turn.",
    ],
    (body) => contentsOf(body).slice(0, 1),
    ({ calls }) => calls.length > 0,
  ),
  rule(
    [
      "google-gemini/gemini-cli/issues/26956",
      "The number of function response parts is not that of the function call parts.",
    ],
    contentsOf,
    ({ calls }, at, all) => calls.length !== (all[at + 1]?.results.length ?? 0),
  ),
  rule(
    ["kaitranntt/ccs/issues/25", "Invalid function name."],
    contentCallsOf,
    ({ name }) => !/^[a-zA-Z_][\w.:-]{0,63}$/u.test(name),
  ),
  rule(
    ["https://ai.google.dev/api/caching#FunctionCall", "Invalid value at function_call.args"],
    contentCallsOf,
    ({ input }) => isNoObject(input),
  ),
  rule(
    ["crewAIInc/crewAI/pull/6973", "Single turn requests end with a user role."],
    (body) => contentsOf(body).slice(-1),
    ({ role }) => role !== "user",
  ),
  rule(
    ["https://ai.google.dev/api/generate-content", "parts must not be empty."],
    contentsOf,
    (content) => isEmpty(content) || content.texts.includes(""),
  ),
];

/** Bedrock's Converse. */
export const bedrockRules: readonly Rule[] = [
  rule(
    ["langchain-ai/langchain-aws/issues/403", "The text field in the ContentBlock is blank."],
    (body) => contentsOf(body).flatMap(({ texts, results }) => [...texts, ...results]),
    isBlank,
  ),
  rule(
    ["langchain-ai/langchain/issues/26968", "The content field in the Message object is empty."],
    contentsOf,
    isEmpty,
  ),
  rule(
    [
      "strands-agents/harness-sdk/issues/1435",
      "The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.",
    ],
    contentsOf,
    ({ results }, at, all) => results.length !== (all[at - 1]?.calls.length ?? 0),
  ),
  rule(
    ["langgenius/dify/issues/17545", "The toolConfig field must be defined when using toolUse."],
    contentCallsOf,
    (_call, _at, _all, { tools = [] }) => tools.length === 0,
  ),
  rule(
    [
      "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html",
      "toolUse failed to satisfy constraint: [a-zA-Z0-9_-]+",
    ],
    contentCallsOf,
    ({ id, name, input }) =>
      !/^[\w-]{1,64}$/u.test(id) || !/^[\w-]{1,64}$/u.test(name) || isNoObject(input),
  ),
];
