import { asked, type Case, oneCall } from "./conformance-cases.ts";
import {
  finish,
  type Part,
  reasoning,
  type Script,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";

/** Streams that only some providers send, by name. */

/** Providers send different metadata with each part. */
function signed(signature: string) {
  return { providerMetadata: { scripted: { signature } } };
}

const remote = { toolCallId: "m", toolName: "mcp.look_up" };
const found = [{ title: "Example", url: "https://example.com" }];

export const metadataCases: readonly Case[] = [
  [
    "reasoning with signatures, in front of a tool call",
    oneCall(signedReasoning(), toolCall("titled", { n: 1 })),
  ],
  [
    "reasoning that is only metadata",
    oneCall(
      { type: "reasoning-start", id: "r", ...signed("redacted") },
      { type: "reasoning-end", id: "r" },
      toolCall("titled", { n: 1 }),
    ),
  ],
  [
    "reasoning in several parts",
    oneCall(
      reasoning("One.", { id: "a", metadata: signed("a").providerMetadata }),
      reasoning("Two.", { id: "b", metadata: signed("b").providerMetadata }),
      toolCall("titled", { n: 1 }),
    ),
  ],
  ["metadata on every part", oneCall(...everyPart())],
  ["a text that is only metadata", oneCall(emptyText(), toolCall("titled", { n: 1 }))],
  [
    "files and custom parts in front of a tool call",
    oneCall(
      { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
      { type: "file", mediaType: "text/plain", ...bytes("hello"), ...signed("f") },
      { type: "reasoning-file", mediaType: "image/png", ...bytes("hello"), ...signed("g") },
      { type: "custom", kind: "scripted.compaction", ...signed("h") },
      { type: "custom", kind: "scripted.bare" },
      toolCall("titled", { n: 1 }),
    ),
  ],
  [
    "a file of many bytes",
    [[{ type: "file", mediaType: "text/plain", ...bytes("x".repeat(20_000)) }, finish()]],
  ],
  [
    "a file that is only pointed to",
    [[{ type: "file", mediaType: "text/plain", data: { type: "url", url: dataUrl() } }, finish()]],
  ],
  [
    "what is no part of the message",
    [
      [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "x", modelId: "y", timestamp: new Date(0) },
        { type: "ping" },
        { type: "raw", rawValue: { any: "thing" } },
        text("Hello."),
        finish(),
      ],
    ],
  ],
  ["citations in front of a tool call", oneCall(...cited(), toolCall("titled", { n: 1 }))],
];

export const providerToolCases: readonly Case[] = [
  ["a provider's call without streamed input", [[...search(), text("Done."), finish()]]],
  [
    "a provider's call with metadata on call and result",
    [[...search({ call: signed("c"), result: signed("r") }), text("Done."), finish()]],
  ],
  [
    "a provider's call beside one of ours",
    oneCall(...search({ call: signed("c"), result: signed("r") }), toolCall("titled", { n: 1 })),
  ],
  [
    "a provider's call that fails with an object",
    [[...search({ error: { code: "unavailable" } }), text("Sorry."), finish()]],
  ],
  [
    "a provider's call whose result comes in parts",
    [[...search({ preliminary: true }), text("Done."), finish()]],
  ],
  ["a provider's dynamic tool", [[...dynamic(), text("Done."), finish()]]],
  ["a provider's dynamic tool, streamed", [[...dynamic(true), text("Done."), finish()]]],
  [
    "a provider's dynamic tool that fails",
    [[...dynamic(true).slice(0, -1), dynamicResult(true), text("Sorry."), finish()]],
  ],
  [
    "a provider's dynamic tool beside one of ours",
    oneCall(...dynamic(), toolCall("told", { n: 1 })),
  ],
  ["a provider's dynamic tool with broken input", [[...brokenDynamic(), finish()]]],
  ["a provider's tool that we do not know", [[unknownTool(), text("Hm."), finish()]]],
  ["input that is streamed as text", oneCall(...textInput())],
];

/** Calls that wait for approval, or get no result in the step that made them. */
export const openCases: readonly Case[] = [
  ["a provider's tool that wants approval", [[...approval(), asked]]],
  ["a provider's tool that never answers", [[...search().slice(0, 1), text("Hm."), finish()]]],
  [
    "a provider's result that comes a step later",
    [
      [search()[0] ?? [], toolCall("titled", { n: 1 }), asked],
      [search()[1] ?? [], text("Done."), finish()],
    ],
  ],
];

function bytes(content: string) {
  return { data: { type: "data" as const, data: new TextEncoder().encode(content) } };
}

function dataUrl(): URL {
  return new URL("data:text/plain;base64,aGVsbG8=");
}

function signedReasoning(): readonly Part[] {
  return [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "I think. " },
    { type: "reasoning-delta", id: "r", delta: "So I am.", ...signed("half") },
    { type: "reasoning-delta", id: "r", delta: "", ...signed("whole") },
    { type: "reasoning-end", id: "r" },
  ];
}

function emptyText(): readonly Part[] {
  return [
    { type: "text-start", id: "t", ...signed("t") },
    { type: "text-end", id: "t" },
  ];
}

function everyPart(): Script {
  return [
    { type: "reasoning-start", id: "r", ...signed("1") },
    { type: "reasoning-delta", id: "r", delta: "Hm.", ...signed("2") },
    { type: "reasoning-end", id: "r", ...signed("3") },
    { type: "text-start", id: "t", ...signed("4") },
    { type: "text-delta", id: "t", delta: "So.", ...signed("5") },
    { type: "text-end", id: "t", ...signed("6") },
    { type: "source", sourceType: "url", id: "s", url: "https://example.com", ...signed("7") },
    {
      type: "source",
      sourceType: "document",
      id: "d",
      mediaType: "application/pdf",
      title: "Paper",
      ...signed("8"),
    },
    { type: "tool-input-start", id: "a", toolName: "titled", title: "Theirs", ...signed("9") },
    { type: "tool-input-delta", id: "a", delta: '{"n":', ...signed("10") },
    { type: "tool-input-delta", id: "a", delta: "1}" },
    { type: "tool-input-end", id: "a", ...signed("11") },
    { type: "tool-call", toolCallId: "a", toolName: "titled", input: '{"n":1}', ...signed("12") },
  ];
}

function cited(): Script {
  const source = { type: "source", sourceType: "url", id: "s", url: "https://e.com" } as const;
  const paper = {
    type: "source",
    sourceType: "document",
    id: "d",
    mediaType: "application/pdf",
    title: "Paper",
  } as const;
  const citations = [{ source, startIndex: 0, endIndex: 3, citedText: "So" }, { source: paper }];
  return [
    source,
    ...text("So. And so.").slice(0, -1),
    { type: "text-end", id: "text_1", citations, ...signed("c") },
  ];
}

interface Search {
  readonly call?: object;
  readonly result?: object;
  readonly error?: object;
  readonly preliminary?: boolean;
}

function search({ call, result, error, preliminary }: Search = {}): readonly Part[] {
  const about = { toolCallId: "p", toolName: "search" };
  const input = '{"query":"x"}';
  const given: Part = { type: "tool-result", ...about, result: ["a"], ...result };
  return [
    { type: "tool-call", ...about, input, providerExecuted: true, ...call },
    ...(preliminary === true ? [{ ...given, preliminary }] : []),
    error === undefined ? given : { ...given, result: { ...error }, isError: true },
  ];
}

function dynamic(isStreamed = false): readonly Part[] {
  const start = { ...remote, providerExecuted: true, dynamic: true };
  const streamed: readonly Part[] = [
    { type: "tool-input-start", id: "m", ...start, title: "Looks up" },
    { type: "tool-input-delta", id: "m", delta: '{"q":1}' },
    { type: "tool-input-end", id: "m" },
  ];
  return [
    ...(isStreamed ? streamed : []),
    { type: "tool-call", ...start, input: '{"q":1}', ...signed("m") },
    dynamicResult(false),
  ];
}

function dynamicResult(isError: boolean): Part {
  const result = isError ? "It broke." : { found };
  return { type: "tool-result", ...remote, dynamic: true, result, isError, ...signed("n") };
}

function brokenDynamic(): readonly Part[] {
  const about = { ...remote, providerExecuted: true, dynamic: true };
  return [{ type: "tool-call", ...about, input: '{"q":' }];
}

function unknownTool(): Part {
  const about = { toolCallId: "u", toolName: "nowhere", providerExecuted: true };
  return { type: "tool-call", ...about, input: "{}" };
}

function textInput(): Script {
  const about = { toolCallId: "a", toolName: "titled" };
  return [
    { type: "tool-input-start", id: "a", toolName: "titled", inputEncoding: "text" },
    { type: "tool-input-delta", id: "a", delta: "one" },
    { type: "tool-input-end", id: "a" },
    { type: "tool-call", ...about, input: '{"n":1}' },
  ];
}

function approval(): readonly Part[] {
  return [
    ...dynamic(true).slice(0, -1),
    { type: "tool-approval-request", approvalId: "approval_m", toolCallId: "m" },
  ];
}
