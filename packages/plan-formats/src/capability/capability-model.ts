import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  capabilityGuide,
  taggedPrompt,
  callIn,
  type CapabilityTools,
  capabilityTools,
} from "./capability-tools.ts";
import { CapabilityScanner, type WrittenCall } from "./capability-scanner.ts";
import { variableCapability } from "./variable-capability.ts";
import type { turnAgents } from "../../../../src/internal-tool.ts";
import type { CapabilityTags } from "../../../../src/runtime.ts";

type Part = LanguageModelV4StreamPart;
type TextPart<Type extends `text-${string}`> = Extract<Part, { type: Type }>;

/**
 * Wraps a model that calls tools with capability tags in its text, so that it looks like a model with native
 * calls. The model receives tools, calls and results as text. Each complete tag outside of code in its output
 * becomes a call. That includes tags that it quotes outside of code, so use a policy to restrict what runs in
 * a tainted turn. Only streaming is supported, because a turn uses nothing else.
 */
function capabilityModel(
  model: LanguageModelV4,
  { tools, newId, syntaxes = [] }: turnAgents.CapabilityOptions,
): LanguageModelV4 {
  const { provider, modelId, supportedUrls } = model;
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls,
    doGenerate: (options) => model.doGenerate(options),
    async doStream({ tools: given = [], toolChoice, prompt, ...rest }) {
      const known = await capabilityTools(given, tools);
      // The provider runs these tools itself.
      const others = given.filter(({ type }) => type !== "function");
      const { stream, ...result } = await model.doStream({
        ...rest,
        prompt: taggedPrompt(prompt, known, capabilityGuide(known, syntaxes)),
        ...(others.length === 0 ? {} : { tools: others }),
        ...(others.length === 0 || toolChoice === undefined ? {} : { toolChoice }),
      });
      return { ...result, stream: stream.pipeThrough(tagsAsCalls(known, newId)) };
    },
  };
}

function tagsAsCalls(tools: CapabilityTools, newId: () => string): TransformStream<Part, Part> {
  const texts = new Map<string, ReturnType<typeof taggedText>>();
  let hasCalls = false;
  const textOf = (id: string, start?: TextPart<"text-start">) => {
    const text = texts.get(id) ?? taggedText(id, start);
    texts.set(id, text);
    return text;
  };
  const partsOf = (pieces: Iterable<Part | WrittenCall>): readonly Part[] =>
    [...pieces].flatMap((piece) => {
      if (!("call" in piece)) return piece;
      hasCalls = true;
      return callParts(piece, { tools, id: newId() });
    });
  const take = (part: Part): readonly Part[] => {
    switch (part.type) {
      case "text-start":
        textOf(part.id, part);
        return [];
      case "text-delta":
        return partsOf(textOf(part.id).add(part));
      case "text-end": {
        const parts = partsOf(textOf(part.id).end(part));
        texts.delete(part.id);
        return parts;
      }
      case "finish": {
        const open = Array.from(texts, ([id, text]) => partsOf(text.end({ type: "text-end", id })));
        const { unified, raw } = part.finishReason;
        const finishReason = { unified: "tool-calls" as const, raw };
        return [...open.flat(), hasCalls && unified === "stop" ? { ...part, finishReason } : part];
      }
      default:
        return [part];
    }
  };
  const transformer: Transformer<Part, Part> = {
    transform: (part, controller) => {
      for (const one of take(part)) controller.enqueue(one);
    },
  };
  // Parts are pulled on demand, as without the wrapper.
  return new TransformStream(transformer, undefined, { highWaterMark: 0 });
}

function callParts(
  written: WrittenCall,
  { tools, id }: { readonly tools: CapabilityTools; readonly id: string },
): readonly Part[] {
  const { toolName, input } = callIn(written.call, tools);
  const text = JSON.stringify(input);
  return [
    { type: "tool-input-start", id, toolName },
    { type: "tool-input-delta", id, delta: text },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName, input: text },
  ];
}

/** One text of the model. Each part between its tags becomes a separate text, unless it is blank. */
function taggedText(id: string, start: TextPart<"text-start"> = { type: "text-start", id }) {
  const scanner = new CapabilityScanner();
  // Provider metadata of a text is sent once.
  let first: Omit<TextPart<"text-start">, "id"> = start;
  /** The id of the text that has begun and not ended. */
  let open: string | undefined;
  let count = 0;
  /** Blanks at the start, held until other text follows. */
  let blanks = "";

  function* say(part: TextPart<"text-delta">, piece: string): Generator<Part> {
    if (open !== undefined) {
      yield { ...part, id: open, delta: piece };
      return;
    }
    blanks += piece;
    if (!/\S/.test(piece)) return;
    open = count++ === 0 ? id : `${id}/${count}`;
    yield { ...first, id: open };
    first = { type: "text-start" };
    yield { ...part, id: open, delta: blanks };
    blanks = "";
  }

  return {
    *add(part: TextPart<"text-delta">): Generator<Part | WrittenCall> {
      for (const piece of scanner.feed(part.delta)) {
        if (typeof piece === "string") {
          yield* say(part, piece);
          continue;
        }
        if (open !== undefined) yield { type: "text-end", id: open };
        open = undefined;
        blanks = "";
        yield piece;
      }
    },
    *end(part: TextPart<"text-end">): Generator<Part | WrittenCall> {
      for (const piece of scanner.end()) {
        if (typeof piece === "string")
          yield* say({ type: "text-delta", id: part.id, delta: "" }, piece);
      }
      if (open !== undefined) yield { ...part, id: open };
    },
  };
}

/** The value for an agent's `toolCalls`: tool calls as tags in a model's text. */
export const capabilityTags: CapabilityTags = {
  model: capabilityModel,
  // The call contains the place of its result.
  tools: variableCapability.map((tool) => ({ ...tool, takesOutputPath: true })),
  syntaxes: ["dollar", "mustache"],
};
