import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart as FilePart,
  LanguageModelV4Message as Message,
  LanguageModelV4Prompt as Prompt,
  LanguageModelV4TextPart as TextPart,
  LanguageModelV4ToolCallPart as Call,
  LanguageModelV4ToolResultOutput as Output,
  LanguageModelV4ToolResultPart as Result,
} from "@ai-sdk/provider";
import type { ModelMessage } from "ai";
import { ByrefError } from "../../errors.ts";
import { clip, isBlankText } from "../../value/characters.ts";
import { compact, isObject, type Json, plainJson } from "../../value/json.ts";
import { shortHash } from "../../value/short-hash.ts";
import { wellFormed } from "../../value/well-formed.ts";

type Of<Role extends Message["role"]> = Extract<Message, { role: Role }>;
type AssistantPart = Of<"assistant">["content"][number];

export interface PromptReader {
  readonly provider: string;
  readonly modelId: string;
  readonly tools: NonNullable<LanguageModelV4CallOptions["tools"]>;
  /** True if the model writes calls as tags: calls and results become texts later, in messages that alternate. */
  readonly hasTags?: boolean;
  /** True if the last message is the list of variables. */
  readonly hasList?: boolean;
  /**
   * True if the provider has refused the prompt: of earlier turns it then receives texts only, in which calls are notes,
   * and no image of the newest. Those that may have a chat template also receive no reasoning: many refuse that.
   */
  readonly isReduced?: boolean;
}

/**
 * Providers whose own API takes messages in any order. All others may put the messages through a chat template, of
 * which many want roles to alternate and ids of nine letters and digits.
 */
const ANY_ORDER =
  /^(?:anthropic|openai\.responses|azure|google|vertex|amazon-bedrock|xai|gateway|byref|scripted)(?:\.|$)/u;

/** Names of tools that each provider takes: Google wants a letter first, OpenAI no dots. */
const TOOL_NAME = /^[a-zA-Z_][\w-]{0,63}$/u;
/** Ids of calls that Anthropic, OpenAI and Bedrock take. */
const CALL_ID = /^[\w-]{1,40}$/u;
/** The ids that Mistral takes. All others take them, too. */
const SHORT_ID = /^[a-zA-Z0-9]{9}$/u;
/** Kimi reads the names of its tools from ids such as `functions.look:0`. */
const KIMI_ID = /^[\w.:-]{1,128}$/u;

const MAX_NOTE_CHARS = 1_000;
const NO_TEXT = "(no text)";
const NO_OUTPUT = "(no output)";
const NO_IMAGE = "(the provider refused this image)";
/** Chat completions take no image in a result, so it is in a message after it. */
const IMAGE_FOLLOWS = "The image follows.";
const NO_RESULT = { type: "error-text", value: "The call has no result: it did not run." } as const;

/** Converts a message of `convertToModelMessages`. A file of the history is a data URL. Throws `model_failed`. */
export function providerMessage({ role, content, providerOptions }: ModelMessage): Message {
  // Only the application instructs the model.
  if (role === "system") throw new ByrefError("model_failed", "The history has a system message.");
  const isText = typeof content === "string";
  const parts = isText ? [{ type: "text", text: content }] : content.filter(isSent).map(withData);
  // The other parts of the history are the same in both forms.
  return { role, content: parts, ...compact({ providerOptions }) } as Message;
}

/** False for a text without characters or metadata. */
function isSent(part: object): boolean {
  return !("text" in part) || part.text !== "" || "providerOptions" in part;
}

function withData(part: object): object {
  const url = "data" in part && isObject(part.data) ? part.data.url : undefined;
  const [, mediaType, data] = /^data:([^;,]*)[^,]*,(.*)$/su.exec(String(url)) ?? [];
  return data === undefined ? part : { ...part, mediaType, data: { type: "data", data } };
}

/**
 * Returns a prompt that the model's provider accepts, whatever the history has: one refused message would end each later
 * turn. The same messages always become the same prompt, so the part that a provider has cached stays the same. Messages
 * that need no change stay the same objects. Cost: linear.
 */
export function acceptablePrompt(prompt: Prompt, reader: PromptReader): Prompt {
  const isTemplate = reader.hasTags !== true && !ANY_ORDER.test(reader.provider);
  const calls = new Calls(prompt, reader, isTemplate);
  const asked = reader.hasList === true ? prompt.slice(0, -1) : prompt;
  const newest = asked.findLastIndex(({ role }) => role === "user");
  const messages: Message[] = [];
  for (const [at, message] of prompt.entries()) {
    if (message.role === "system") messages.push(message);
    else if (message.role === "user") messages.push(withTexts(message));
    // With the results of its calls, which are in other messages here.
    else if (message.role === "assistant")
      messages.push(...calls.answer(message, reader.isReduced === true && at < newest));
  }
  const tail = messages.at(-1);
  if (tail !== undefined && reader.hasList === true) {
    notes.add(tail);
    const pending = messages.findIndex((message) => calls.isPending(message));
    // The provider continues the call only if the prompt ends with it.
    if (pending >= 0) messages.splice(pending, 0, ...messages.splice(-1));
  }
  return isTemplate ? alternating(messages) : messages;
}

/**
 * Messages of the runtime: the list of variables, or calls that no provider takes back. By identity: a person may begin a
 * message in the same words.
 */
const notes = new WeakSet<Message>();

class Calls {
  readonly #reader: PromptReader;
  readonly #isTemplate: boolean;
  readonly #idForm: RegExp;
  /** The first result after each call, and before the next call with the same id. */
  readonly #results = new Map<Call, Result>();
  readonly #counts = new Map<string, number>();
  readonly #ids = new Set<string>();
  /** Calls of tools that the provider runs. */
  readonly #provided = new Set<string>();

  constructor(prompt: Prompt, reader: PromptReader, isTemplate: boolean) {
    this.#reader = reader;
    this.#isTemplate = isTemplate;
    const isKimi = /kimi|moonshot/iu.test(reader.modelId);
    this.#idForm = isKimi ? KIMI_ID : isTemplate ? SHORT_ID : CALL_ID;
    const open = new Map<string, Call>();
    for (const { role, content } of prompt) {
      for (const part of role === "assistant" || role === "tool" ? content : []) {
        if (part.type === "tool-call") open.set(part.toolCallId, part);
        if (part.type !== "tool-result") continue;
        const call = open.get(part.toolCallId);
        open.delete(part.toolCallId);
        if (call !== undefined) this.#results.set(call, part);
      }
    }
  }

  /**
   * An answer in acceptable form, followed by the results of its calls, and those that are only a note. `isText`: all of
   * them are, and nothing but texts is left of the answer.
   */
  *answer(given: Of<"assistant">, isText: boolean): Generator<Message> {
    const isSame = !isText && given.content.length > 0 && given.content.every(isPlain);
    if (isSame) return yield given;
    const message = isText ? { role: given.role } : given;
    let content: AssistantPart[] = [];
    let results: Result[] = [];
    const refused: string[] = [];
    const isTemplate = this.#isTemplate;
    const { isReduced = false } = this.#reader;
    const withImageNote = (one: Result) => ({
      ...one,
      output: textsOnly(one.output, IMAGE_FOLLOWS),
    });
    const take = function* (): Generator<Message> {
      const last = content.findLastIndex((part) => !part.type.startsWith("reasoning"));
      const said = content.slice(0, last + 1);
      // Other providers leave out a picture, and may refuse the empty answer that remains.
      if (!said.some((part) => isPlain(part) || part.type.startsWith("tool-")))
        said.push({ type: "text", text: NO_TEXT });
      if (last >= 0) yield { ...message, content: said };
      const images = isTemplate ? results.flatMap(imagesIn) : [];
      const shown = images.length === 0 ? results : results.map(withImageNote);
      if (results.length > 0) yield { role: "tool", content: shown };
      if (images.length > 0) {
        yield { role: "assistant", content: [{ type: "text", text: IMAGE_FOLLOWS }] };
        yield { role: "user", content: images };
      }
      [content, results] = [[], []];
    };
    let isForeign = false;
    for (const part of given.content) {
      if (part.type === "tool-result") {
        if (this.#provided.has(part.toolCallId)) content.push(part);
        continue;
      }
      if (part.type !== "tool-call" && isText) {
        // Without metadata of its provider.
        if (part.type === "text") content.push(...plainPart({ type: "text", text: part.text }));
        continue;
      }
      if (part.type !== "tool-call") {
        if (isForeign) yield* take();
        isForeign = false;
        if (!(isTemplate && isReduced) || !part.type.startsWith("reasoning"))
          content.push(...plainPart(part));
        continue;
      }
      const toolCallId = this.#idFor(part);
      if (!isText && this.#isProvided(part)) {
        content.push(part);
        continue;
      }
      const { providerExecuted = false, ...call } = part;
      // A tool of another provider: its result is in the same message, and the text after it in the next.
      isForeign ||= providerExecuted;
      const { output = NO_RESULT, ...result } = this.#results.get(part) ?? {};
      const said = acceptableOutput(isReduced ? textsOnly(output, NO_IMAGE) : output);
      if (isText || !this.#isCallable(part)) {
        refused.push(noteOf(part, said));
        continue;
      }
      content.push({ ...call, toolCallId, input: inputOf(part) });
      const { toolName } = part;
      results.push({ ...result, type: "tool-result", toolName, toolCallId, output: said });
    }
    yield* take();
    if (refused.length === 0) return;
    const note: Message = { role: "user", content: [{ type: "text", text: refused.join("\n\n") }] };
    notes.add(note);
    yield note;
  }

  /** True if the message has a call that the provider has yet to finish. */
  isPending({ role, content }: Message): boolean {
    if (role !== "assistant") return false;
    const isOpen = (call: Call) => this.#provided.has(call.toolCallId) && !this.#results.has(call);
    return content.some((part) => part.type === "tool-call" && isOpen(part));
  }

  /** True for a call that this provider's tool ran. One that another provider ran becomes an ordinary call. */
  #isProvided({ toolCallId, toolName, providerExecuted, providerOptions = {} }: Call): boolean {
    if (providerExecuted !== true) return false;
    const { tools, provider, modelId } = this.#reader;
    const tool = tools.find(({ type, name }) => type === "provider" && name === toolName);
    const id = tool?.type === "provider" ? tool.id : Object.keys(providerOptions)[0];
    const [maker] = id?.split(".") ?? [];
    const own = `${provider.replace("azure", "openai")}/${modelId}`;
    if (maker === undefined || !own.includes(maker)) return false;
    this.#provided.add(toolCallId);
    return true;
  }

  #isCallable({ toolName }: Call): boolean {
    const { tools } = this.#reader;
    if (tools.length === 0) return false;
    return TOOL_NAME.test(toolName) || tools.some(({ name }) => name === toolName);
  }

  /** The id as it is, unless it was used before or not all providers take it. */
  #idFor({ toolCallId }: Call): string {
    const count = 1 + (this.#counts.get(toolCallId) ?? 0);
    this.#counts.set(toolCallId, count);
    let id = toolCallId;
    const isUsable = () => this.#idForm.test(id) && !this.#ids.has(id);
    for (let salt = count; !isUsable(); salt++) id = shortId(`${toolCallId} ${salt}`);
    this.#ids.add(id);
    return id;
  }
}

/** Nine digits and letters, the same for the same text. */
function shortId(text: string): string {
  return shortHash(text).padStart(7, "0") + shortHash(`${text}.`).slice(-2).padStart(2, "0");
}

/** The texts of an output, with a note in place of each image. */
function textsOnly(output: Output, note: string): Output {
  if (output.type !== "content") return output;
  const texts = output.value.map((one) => (one.type === "text" ? one.text : note));
  return { type: "text", value: texts.join("\n") };
}

function imagesIn({ output }: Result): FilePart[] {
  if (output.type !== "content") return [];
  return output.value.flatMap((one) => {
    if (one.type !== "file") return [];
    const { mediaType, data } = one;
    return [{ type: "file" as const, mediaType, data }];
  });
}

function isPlain(part: AssistantPart): boolean {
  return part.type === "text" && !isBlankText(part.text) && part.text.isWellFormed();
}

/** Returns nothing for blank text, which several providers refuse, unless its metadata matters to its provider. */
function plainPart<Part extends Exclude<AssistantPart, Call | Result>>(part: Part): Part[] {
  if (part.type !== "text") return [part];
  if (!isBlankText(part.text)) return [{ ...part, text: part.text.toWellFormed() }];
  const { providerOptions } = part;
  return providerOptions === undefined || "anthropic" in providerOptions
    ? []
    : [{ ...part, text: "" }];
}

function withTexts(message: Of<"user">): Message {
  const isEmpty = (part: Of<"user">["content"][number]) =>
    part.type === "text" && isBlankText(part.text);
  const { content: given } = message;
  // The next question of a prompt that is only described has no character at all.
  const isSame = given.every((part) => part.type !== "text" || part.text === "" || isPlain(part));
  if (given.length > 0 && isSame) return message;
  const content = given.filter((part) => !isEmpty(part)).map(wellFormed);
  return {
    ...message,
    content: content.length === 0 ? [{ type: "text", text: NO_TEXT }] : content,
  };
}

/**
 * Input that was no object was refused when it was called. Digits that a double does not give back are texts, because
 * a model's packages may copy the prompt.
 */
function inputOf(call: Call): Readonly<Record<string, unknown>> {
  const input: unknown = plainJson(call.input as Json);
  if (isObject(input) && !Array.isArray(input)) return wellFormed(input);
  // Broken JSON, as in the SDK's loop.
  return typeof input === "string" || input == null ? {} : { rawInvalidInput: wellFormed(input) };
}

function acceptableOutput(output: Output): Output {
  const said = wellFormed(output);
  if (said.type === "text" || said.type === "error-text")
    return isBlankText(said.value) ? { ...said, value: NO_OUTPUT } : said;
  if (said.type !== "content") return said;
  const value = said.value.filter((part) => part.type !== "text" || !isBlankText(part.text));
  return { ...said, value: value.length === 0 ? [{ type: "text", text: NO_OUTPUT }] : value };
}

function noteOf({ toolName, input }: Call, output: Output): string {
  const given = clip(JSON.stringify(input) ?? "", MAX_NOTE_CHARS);
  return `You called ${JSON.stringify(toolName)} with ${given}. The result: ${clip(saidIn(output), MAX_NOTE_CHARS)}`;
}

/** Stands between results and the next question, where chat templates want an answer. */
const NO_ANSWER: Message = {
  role: "assistant",
  content: [{ type: "text", text: "The turn ended without an answer." }],
};

/**
 * Returns messages of a person and of the model by turns, as many chat templates want them; results count as part of the
 * model's. A message of the runtime may be in a result.
 */
function alternating(messages: readonly Message[]): Message[] {
  const all: Message[] = [];
  const joined = (content: Of<"user">["content"]) => joinedTexts(content, () => "\n\n");
  for (const message of messages) {
    const last = all.at(-1);
    const at = all.length - 1;
    if (message.role === "user" && last?.role === "tool" && notes.has(message)) {
      all[at] = withNote(last, textOf(message));
    } else if (message.role === "user" && last?.role === "user") {
      all[at] = { ...last, content: joined([...last.content, ...message.content]) };
    } else if (message.role === "assistant" && last?.role === "assistant") {
      all[at] = { ...last, content: [...last.content, ...message.content] };
    } else if (message.role === "user") {
      if (last?.role === "tool") all.push(NO_ANSWER);
      all.push({ ...message, content: joined(message.content) });
    } else all.push(message);
  }
  return all;
}

/** Appends a note to the last result, because only the model may follow. */
function withNote(message: Of<"tool">, note: string): Message {
  const content = message.content.map((part, at) => {
    if (part.type !== "tool-result" || at < message.content.length - 1) return part;
    const { output } = part;
    if (output.type === "content")
      return {
        ...part,
        output: { ...output, value: [...output.value, { type: "text" as const, text: note }] },
      };
    const isError = output.type === "error-text" || output.type === "error-json";
    const type = isError ? ("error-text" as const) : ("text" as const);
    return { ...part, output: { type, value: `${saidIn(output)}\n\n${note}` } };
  });
  return { ...message, content };
}

function textOf({ content }: Of<"user">): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n\n");
}

function saidIn(output: Output): string {
  if (output.type === "execution-denied") return output.reason ?? "The call was not allowed.";
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}

/** Joins consecutive texts, because many chat templates support only one text per message. */
export function joinedTexts<Part extends { readonly type: string }>(
  parts: readonly (Part | TextPart)[],
  between: (before: string, after: string) => string,
): (Part | TextPart)[] {
  const all: (Part | TextPart)[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || !isPlainText(last) || !isPlainText(part)) all.push(part);
    else {
      const text = `${last.text}${between(last.text, part.text)}${part.text}`;
      all[all.length - 1] = { type: "text", text };
    }
  }
  return all;
}

function isPlainText(part: { readonly type: string }): part is TextPart {
  return part.type === "text" && !("providerOptions" in part && part.providerOptions !== undefined);
}
