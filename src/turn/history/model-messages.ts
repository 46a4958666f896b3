import { createToolModelOutput } from "ai/internal";
import type {
  AssistantModelMessage,
  FilePart,
  ModelMessage,
  TextPart,
  Tool,
  ToolModelMessage,
  ToolSet,
} from "ai";
import { compact } from "../../value/json.ts";
import type { StoredMessage } from "./stored-message.ts";
import type { MessagePart } from "./message-parts.ts";
import { isToolPart, type ToolPart, toolNameOf } from "./tool-part.ts";

type Content = Exclude<AssistantModelMessage["content"], string>[number];
type ToolResult = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>;
type Metadata = Extract<MessagePart, { type: "text" }>["providerMetadata"];

/**
 * Converts a message as the SDK's `convertToModelMessages` does: each step becomes a message of the
 * assistant and one with the results of its tools. Approvals are left out. The SDK's function is in a module
 * that adds 11 KiB to a Worker (gzip).
 */
export async function modelMessages(
  { role, parts }: Pick<StoredMessage, "role" | "parts">,
  tools: ToolSet,
): Promise<ModelMessage[]> {
  if (role === "user") return [{ role, content: parts.flatMap(userContent) }];
  const messages: ModelMessage[] = [];
  for (const step of stepsIn(parts)) messages.push(...(await stepMessages(step, tools)));
  return messages;
}

function stepsIn(parts: readonly MessagePart[]): readonly (readonly MessagePart[])[] {
  const steps: MessagePart[][] = [[]];
  for (const part of parts) {
    if (part.type === "step-start") steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps;
}

async function stepMessages(
  step: readonly MessagePart[],
  tools: ToolSet,
): Promise<readonly ModelMessage[]> {
  const content: Content[] = [];
  const results: ToolResult[] = [];
  for (const part of step) {
    if (!isToolPart(part)) {
      content.push(...plainContent(part));
      continue;
    }
    if (part.state === "input-streaming") continue;
    content.push(callIn(part));
    if (part.state !== "output-available" && part.state !== "output-error") continue;
    // The result of a tool that the provider ran belongs to the model's own message.
    (part.providerExecuted === true ? content : results).push(await resultIn(part, tools));
  }
  return [
    ...(content.length > 0 ? [{ role: "assistant" as const, content }] : []),
    ...(results.length > 0 ? [{ role: "tool" as const, content: results }] : []),
  ];
}

function userContent(part: MessagePart): (TextPart | FilePart)[] {
  if (part.type === "text") return [textIn(part)];
  return part.type === "file" ? [fileIn(part)] : [];
}

/** Returns nothing for sources and data, which are only for people. */
function plainContent(part: Exclude<MessagePart, ToolPart>): Content[] {
  switch (part.type) {
    case "text":
      return [textIn(part)];
    case "reasoning":
      return [{ type: part.type, text: part.text, ...optionsOf(part.providerMetadata) }];
    case "file":
      return [fileIn(part)];
    case "reasoning-file": {
      const { type, mediaType, url, providerMetadata } = part;
      const data = { type: "url" as const, url: new URL(url) };
      return [{ type, mediaType, data, ...optionsOf(providerMetadata) }];
    }
    case "custom":
      return [{ type: part.type, kind: part.kind, ...optionsOf(part.providerMetadata) }];
    default:
      return [];
  }
}

function textIn({ text, providerMetadata }: Extract<MessagePart, { type: "text" }>): TextPart {
  return { type: "text", text, ...optionsOf(providerMetadata) };
}

function fileIn(part: Extract<MessagePart, { type: "file" }>): FilePart {
  const { type, mediaType, filename, url, providerReference: reference, providerMetadata } = part;
  const data: FilePart["data"] =
    reference == null ? { type: "url", url: new URL(url) } : { type: "reference", reference };
  return { type, mediaType, ...compact({ filename }), data, ...optionsOf(providerMetadata) };
}

function callIn(part: ToolPart): Content {
  const { toolCallId, input, providerExecuted, state, callProviderMetadata } = part;
  const metadata =
    callProviderMetadata ?? (state === "output-error" ? part.resultProviderMetadata : undefined);
  return {
    type: "tool-call",
    toolCallId,
    toolName: toolNameOf(part),
    input,
    ...compact({ providerExecuted }),
    ...optionsOf(metadata),
  };
}

async function resultIn(
  part: Extract<ToolPart, { state: "output-available" | "output-error" }>,
  tools: ToolSet,
): Promise<ToolResult> {
  const { toolCallId, input, providerExecuted, callProviderMetadata } = part;
  const toolName = toolNameOf(part);
  const isFailed = part.state === "output-error";
  const failedAs = providerExecuted === true ? "json" : "text";
  const output = await createToolModelOutput({
    toolCallId,
    input,
    output: isFailed ? part.errorText : part.output,
    tool: toolNamed(tools, toolName),
    errorMode: isFailed ? failedAs : "none",
  });
  const ofProvider = providerExecuted === true ? part.resultProviderMetadata : undefined;
  const metadata = ofProvider ?? callProviderMetadata;
  return { type: "tool-result", toolCallId, toolName, output, ...optionsOf(metadata) };
}

function toolNamed(tools: ToolSet, name: string): Tool | undefined {
  // A set's tools are tools; only their optional fields may also be undefined.
  return Object.hasOwn(tools, name) ? (tools[name] as Tool | undefined) : undefined;
}

function optionsOf(metadata: Metadata): { providerOptions?: NonNullable<Metadata> } {
  return metadata == null ? {} : { providerOptions: metadata };
}
