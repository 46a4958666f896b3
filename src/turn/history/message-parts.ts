import type { UIMessage, UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import type { ChangedInput } from "../../tool/policy.ts";
import { compact, isObject, type Json } from "../../value/json.ts";

export type MessagePart = UIMessage["parts"][number];
export type ToolPart = Extract<MessagePart, { toolCallId: string }>;
type Fields = Record<string, unknown>;

/** The texts of a message, as they are stored. */
export function textsOf(parts: readonly MessagePart[]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** The texts as the person saw them. Undefined if they equal the stored ones. */
export function displayOf(
  parts: readonly MessagePart[],
  display: readonly string[],
): readonly string[] | undefined {
  return textsOf(parts).every((text, at) => text === display[at]) ? undefined : display;
}

type Chunk<Type extends UIMessageChunk["type"]> = Extract<UIMessageChunk, { type: Type }>;

/** A call of a message, as the model wrote it, with its state so far. */
export interface WrittenCall {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: Json;
  readonly state: ToolPart["state"];
  readonly outcome: "done" | "failed" | undefined;
  /** True if the provider runs it. */
  readonly isProvided: boolean;
  /** Set if it waits for a person. */
  readonly approvalId: string | undefined;
  /** True if it is of the newest step. */
  readonly isInStep: boolean;
  /** The indices of its step, and of the call in it. */
  readonly place: string;
}

/** The input with which a person has approved the call, or is asked to, in place of the model's. */
export function changedIn({ approval }: ToolPart): ChangedInput | undefined {
  const { descriptor } = approval ?? {};
  // `ToolCalls` made it.
  return isObject(descriptor) ? (descriptor.changed as ChangedInput | undefined) : undefined;
}

/** A value that takes the place of a reference in an answer. */
export interface PlacedValue {
  /** The reference as the model wrote it. */
  readonly source: string;
  readonly variable: string;
  /** The path of the reference; empty for the whole value. */
  readonly path: string;
  readonly version?: number;
  /** The tool that returned the variable, its call, and when. */
  readonly tool?: string;
  readonly call?: string;
  readonly at?: string;
  /** Set if it was evicted, and the turn has made it again. */
  readonly remade?: true;
  readonly chars: number;
}

/** A value in a displayed text. Positions are in UTF-16 code units. */
export interface StoredSpan extends Omit<PlacedValue, "chars"> {
  /** The index of the text among the displayed ones. */
  readonly text: number;
  readonly start: number;
  readonly end: number;
  /** Digest of the value, from `digestOf`. Absent for a secret. */
  readonly digest?: string;
}

/** Sources of the values in an answer's displayed texts. */
export interface StoredReceipt {
  /** The first `maxItems`. */
  readonly spans: readonly StoredSpan[];
  /** True if there are further values. */
  readonly isCut?: true;
}

/** A span whose digest is computed after it was placed. */
export type OpenSpan = StoredSpan & { digest?: string };

export interface Step {
  readonly parts: readonly MessagePart[];
  readonly display: readonly string[];
  /** The values in these texts, which are counted from the step's first. Absent if there are none. */
  readonly receipt?: StoredReceipt;
}

const NONE: Pick<Step, "parts"> = { parts: [] };

/**
 * An assistant message while it grows. Builds the same parts as a stock client does from the same chunks. The
 * texts are stored as the model wrote them; `display` has them as the person saw them, one per text part.
 */
export class MessageParts {
  readonly #parts: Fields[];
  readonly #display: string[];
  /** The values in the displayed texts, at most `maxItems`. */
  #spans: StoredSpan[];
  #isCut: boolean;
  /** Parts that are still being written, by kind and id. */
  readonly #open = new Map<string, Fields>();
  /** Index in `display` for each text id, until the id is used again. */
  readonly #shownAt = new Map<string, number>();
  /** Start of the parts and the displayed texts of the current step. */
  #stepStart: number;
  #stepDisplay: number;

  /** Starts a new message, or continues one that waited. */
  constructor({ parts, display, receipt }: Pick<Step, "parts"> & Partial<Step> = NONE) {
    this.#parts = parts.map((part) => ({ ...part }));
    this.#display = [...(display ?? textsOf(parts))];
    this.#spans = [...(receipt?.spans ?? [])];
    this.#isCut = receipt?.isCut === true;
    this.#stepStart = this.#parts.length;
    this.#stepDisplay = this.#display.length;
  }

  get parts(): readonly MessagePart[] {
    // Every object in here was made below, from chunks of the SDK, with the fields of its part type.
    return this.#parts as unknown as readonly MessagePart[];
  }

  /** The newest step, including its `step-start`, as written and as shown. */
  step(): Step {
    const parts = this.parts.slice(this.#stepStart - 1);
    const receipt = this.#receiptFrom(this.#stepDisplay);
    return { parts, display: this.#display.slice(this.#stepDisplay), ...compact({ receipt }) };
  }

  get steps(): number {
    return this.#parts.filter(({ type }) => type === "step-start").length;
  }

  /** The calls by id, in the order in which they were written. */
  calls(): ReadonlyMap<string, WrittenCall> {
    const calls = new Map<string, WrittenCall>();
    let [step, call] = [-1, 0];
    for (const [at, { type, toolCallId, approval, ...part }] of this.#parts.entries()) {
      if (type === "step-start") [step, call] = [step + 1, 0];
      if (typeof toolCallId !== "string") continue;
      // `toolState` and `add` set it. The SDK made the input by parsing JSON.
      const [state, input] = [part.state as ToolPart["state"], part.input as Json];
      const isWaiting = state === "approval-requested" && isObject(approval);
      // A model may use an id again in a later step.
      calls.delete(toolCallId);
      calls.set(toolCallId, {
        toolCallId,
        toolName: toolIn({ ...part, type }),
        input,
        state,
        outcome: OUTCOMES[state],
        isProvided: part.providerExecuted === true,
        approvalId: isWaiting ? String(approval.id) : undefined,
        isInStep: at >= this.#stepStart,
        place: `${step}/${call++}`,
      });
    }
    return calls;
  }

  /** Chunks that end what the step has begun to write: texts, reasoning and inputs of calls. */
  endings(): readonly UIMessageChunk[] {
    const texts = [...this.#open.keys()].map((key): UIMessageChunk => {
      const id = key.slice(key.indexOf(" ") + 1);
      return { type: key.startsWith("text ") ? "text-end" : "reasoning-end", id };
    });
    const calls = [...this.calls().values()].flatMap((one): UIMessageChunk[] => {
      const { toolCallId, toolName, state, isInStep } = one;
      if (state !== "input-streaming" || !isInStep) return [];
      return [{ type: "tool-input-error", toolCallId, toolName, input: {}, errorText: UNFINISHED }];
    });
    return [...texts, ...calls];
  }

  /** Adds a step that `step` returned. */
  restore({ parts, display, receipt }: Step): void {
    this.add({ type: "start-step" });
    const before = this.#stepDisplay;
    const spans = receipt?.spans.map((span) => ({ ...span, text: span.text + before })) ?? [];
    this.#spans.push(...spans);
    this.#isCut ||= receipt?.isCut === true;
    this.#parts.push(...parts.slice(1).map((part) => ({ ...part })));
    this.#display.push(...display);
  }

  /** The text that the person saw for each text part, in order. */
  get display(): readonly string[] {
    return this.#display;
  }

  /** Records text shown for a part, with references expanded. */
  show(id: string, text: string): void {
    const index = this.#shownAt.get(id);
    if (index !== undefined) this.#display[index] += text;
  }

  /** The values in the texts that the person saw. Undefined if there are none. */
  get receipt(): StoredReceipt | undefined {
    return this.#receiptFrom(0);
  }

  /** The values from this text on, counted from it. */
  #receiptFrom(text: number): StoredReceipt | undefined {
    const from = this.#spans.filter((span) => span.text >= text);
    const spans = from.map((span) => ({ ...span, text: span.text - text }));
    if (spans.length === 0 && !this.#isCut) return undefined;
    return { spans, ...(this.#isCut ? { isCut: true } : {}) };
  }

  /** Records a value that is shown next for a part. Returns its place, if it is recorded. */
  place(id: string, { chars, ...value }: PlacedValue): OpenSpan | undefined {
    const text = this.#shownAt.get(id);
    if (text === undefined) return undefined;
    this.#isCut ||= this.#spans.length >= limits.maxItems;
    if (this.#isCut) return undefined;
    const start = this.#display[text]?.length ?? 0;
    const span: OpenSpan = { ...value, text, start, end: start + chars };
    this.#spans.push(span);
    return span;
  }

  add(chunk: UIMessageChunk): void {
    switch (chunk.type) {
      case "start-step":
        this.#stepStart = this.#parts.push({ type: "step-start" });
        this.#stepDisplay = this.#display.length;
        return;
      case "reset-step":
        this.#parts.length = this.#stepStart;
        this.#display.length = this.#stepDisplay;
        this.#spans = this.#spans.filter(({ text }) => text < this.#stepDisplay);
        this.#isCut &&= this.#spans.length >= limits.maxItems;
        this.#open.clear();
        this.#shownAt.clear();
        return;
      case "text-start":
      case "reasoning-start":
        return this.#start(chunk);
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        return this.#extend(chunk);
      case "tool-input-start":
      case "tool-input-available":
      case "tool-input-error":
        return this.#toolInput(chunk);
      case "tool-output-available":
      case "tool-output-error":
        return this.#toolOutput(chunk);
      case "tool-approval-request": {
        const { toolCallId, approvalId: id, approvalDescriptor: descriptor } = chunk;
        const approval = compact({ id, descriptor });
        Object.assign(this.#partOf(toolCallId) ?? {}, { state: "approval-requested", approval });
        return;
      }
      case "tool-approval-response":
        return this.#answer(chunk);
      case "tool-output-denied":
        Object.assign(this.#partOf(chunk.toolCallId) ?? {}, { state: "output-denied" });
        return;
      case "file":
      case "reasoning-file":
      case "source-url":
      case "source-document":
      case "custom":
        this.#parts.push({ ...chunk });
        return;
      default:
    }
  }

  #start(chunk: Chunk<"text-start" | "reasoning-start">): void {
    const { id, providerMetadata } = chunk;
    const kind = chunk.type === "text-start" ? "text" : "reasoning";
    const part: Fields = {
      type: kind,
      ...(kind === "reasoning" ? { id } : {}),
      text: "",
      ...compact({ providerMetadata }),
      state: "streaming",
    };
    if (kind === "text") this.#shownAt.set(id, this.#display.push("") - 1);
    this.#open.set(`${kind} ${id}`, part);
    this.#parts.push(part);
  }

  #extend(chunk: Chunk<`${"text" | "reasoning"}-${"delta" | "end"}`>): void {
    const key = `${chunk.type.startsWith("text") ? "text" : "reasoning"} ${chunk.id}`;
    const part = this.#open.get(key);
    if (part === undefined) return;
    if (chunk.providerMetadata !== undefined) part.providerMetadata = chunk.providerMetadata;
    if ("delta" in chunk) {
      part.text = `${String(part.text)}${chunk.delta}`;
      return;
    }
    part.state = "done";
    if ("citations" in chunk && chunk.citations !== undefined) part.citations = chunk.citations;
    this.#open.delete(key);
  }

  #toolInput(chunk: Chunk<`tool-input-${"start" | "available" | "error"}`>): void {
    const { type, toolCallId, toolName, dynamic, providerMetadata, ...rest } = chunk;
    const existing = this.#parts
      .slice(this.#stepStart)
      .find((part) => part.toolCallId === toolCallId);
    const part: Fields = existing ?? {
      ...(dynamic === true ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` }),
      toolCallId,
    };
    if (existing === undefined) this.#parts.push(part);
    part.state = toolState[type];
    delete part.inputEncoding;
    if (providerMetadata !== undefined) {
      const field = type === "tool-input-error" ? "resultProviderMetadata" : "callProviderMetadata";
      part[field] = providerMetadata;
    }
    Object.assign(part, rest);
  }

  #answer(chunk: Chunk<"tool-approval-response">): void {
    const { approvalId, approved, reason } = chunk;
    for (const part of this.#parts) {
      if (!isObject(part.approval) || part.approval.id !== approvalId) continue;
      part.state = "approval-responded";
      part.approval = compact({ ...part.approval, approved, reason });
    }
  }

  #partOf(toolCallId: string): Fields | undefined {
    return this.#parts.findLast((candidate) => candidate.toolCallId === toolCallId);
  }

  #toolOutput(chunk: Chunk<"tool-output-available" | "tool-output-error">): void {
    const { type, toolCallId, dynamic: _dynamic, providerMetadata, ...rest } = chunk;
    const part = this.#partOf(toolCallId);
    if (part === undefined) return;
    part.state = toolState[type];
    // A provider may run a call that could not be read.
    delete part.errorText;
    if (providerMetadata !== undefined) part.resultProviderMetadata = providerMetadata;
    Object.assign(part, rest);
  }
}

function toolIn({ toolName, type = "" }: Fields): string {
  return String(toolName ?? String(type).replace(/^tool-/u, ""));
}

const UNFINISHED = "skipped: The answer ended before the input of this call was complete.";

const OUTCOMES: Partial<Record<ToolPart["state"], "done" | "failed">> = {
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "failed",
};

const toolState = {
  "tool-input-start": "input-streaming",
  "tool-input-available": "input-available",
  "tool-input-error": "output-error",
  "tool-output-available": "output-available",
  "tool-output-error": "output-error",
} as const;
