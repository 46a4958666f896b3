import type { Exchange } from "./model-wire.ts";

/** Streams of Anthropic's Messages API, as its documentation shows them. */

type Block = Readonly<Record<string, unknown>>;
/** The start of a content block, and its deltas. */
type Content = readonly [block: Block, ...deltas: readonly Block[]];

const usage = { input_tokens: 25, output_tokens: 1 };

function start(id: string): Block {
  const message = { id, type: "message", role: "assistant", model: "claude-test", content: [] };
  return { type: "message_start", message: { ...message, stop_reason: null, usage } };
}

function blocks(...contents: readonly Content[]): readonly Block[] {
  return contents.flatMap(([block, ...deltas], index) => [
    { type: "content_block_start", index, content_block: block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);
}

function end(stopReason: string): readonly Block[] {
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return [{ type: "message_delta", delta, usage: { output_tokens: 15 } }, { type: "message_stop" }];
}

function message(id: string, stopReason: string, ...contents: readonly Content[]) {
  return [start(id), { type: "ping" }, ...blocks(...contents), ...end(stopReason)];
}

function text(...deltas: readonly string[]): Content {
  return [
    { type: "text", text: "" },
    ...deltas.map((delta) => ({ type: "text_delta", text: delta })),
  ];
}

const thinking: Content = [
  { type: "thinking", thinking: "" },
  { type: "thinking_delta", thinking: "Let me see" },
  { type: "thinking_delta", thinking: "; I see." },
  { type: "signature_delta", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" },
];

const weather: Content = [
  { type: "tool_use", id: "toolu_01", name: "get_weather", input: {} },
  { type: "input_json_delta", partial_json: "" },
  { type: "input_json_delta", partial_json: '{"city": ' },
  { type: "input_json_delta", partial_json: '"NYC"}' },
];

const done = message("msg_last", "end_turn", text("Do", "ne."));

const searchCall: Content = [
  { type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: {} },
  { type: "input_json_delta", partial_json: '{"query": "claude"}' },
];
const page = { type: "web_search_result", url: "https://example.com", title: "Example" };

function searchResult(content: unknown): Content {
  return [{ type: "web_search_tool_result", tool_use_id: "srvtoolu_01", content }];
}

const citedText: Content = [
  { type: "text", text: "" },
  { type: "text_delta", text: "It is so." },
  {
    type: "citations_delta",
    citation: {
      type: "web_search_result_location",
      cited_text: "It is so",
      url: "https://example.com",
      title: "Example",
      encrypted_index: "Eo8B",
    },
  },
];

const remoteCall: Content = [
  {
    type: "mcp_tool_use",
    id: "mcptoolu_01",
    name: "look_up",
    server_name: "books",
    input: { q: 1 },
  },
];

function remoteResult(isError: boolean): Content {
  const content = [{ type: "text", text: isError ? "It broke." : "A book." }];
  const about = { tool_use_id: "mcptoolu_01", is_error: isError };
  return [{ type: "mcp_tool_result", ...about, content }];
}

export const anthropicExchanges: readonly Exchange[] = [
  ["an empty answer", [message("msg_1", "end_turn")]],
  ["thinking", [message("msg_1", "end_turn", thinking, text("So."))]],
  [
    "thinking and a tool call",
    [message("msg_1", "tool_use", thinking, text("Wait."), weather), done],
  ],
  [
    "thinking that is not shown",
    [
      message("msg_1", "tool_use", [{ type: "redacted_thinking", data: "EmwKAhgB" }], weather),
      done,
    ],
  ],
  [
    "a search, with citations",
    [message("msg_1", "end_turn", searchCall, searchResult([searchPage()]), citedText)],
  ],
  [
    "a search that pauses the turn",
    [
      message("msg_1", "pause_turn", text("I search."), searchCall),
      message("msg_2", "end_turn", searchResult([searchPage()]), citedText),
    ],
  ],
  [
    "a search whose result comes after that of a call",
    [
      message("msg_1", "tool_use", searchCall, weather),
      message("msg_2", "end_turn", searchResult([searchPage()]), text("So.")),
    ],
  ],
  [
    "a tool of an MCP server",
    [message("msg_1", "end_turn", remoteCall, remoteResult(false), text("So."))],
  ],
];

function searchPage(): Block {
  return { ...page, encrypted_content: "EqgfCioIARgB", page_age: "April 30, 2026" };
}

const refusal = { type: "invalid_request_error", message: "Too many images." };

/** Incomplete answers that are not retried. */
export const anthropicFailures: readonly Exchange[] = [
  [
    "an error in a text",
    [[start("msg_1"), ...blocks(text("Hel")).slice(0, -1), { type: "error", error: refusal }]],
  ],
];

/** Incomplete answers that are retried. */
export const anthropicMishaps: readonly Exchange[] = [
  [
    "a text that is cut off",
    [{ cut: [start("msg_1"), ...blocks(text("Hel")).slice(0, -1)] }, done],
  ],
  [
    "overload in a text",
    [
      [
        start("msg_1"),
        ...blocks(text("Hel")).slice(0, -1),
        { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      ],
      done,
    ],
  ],
];
