import * as z from "zod";
import { secureJsonParse } from "@ai-sdk/provider-utils";
import {
  type FileUIPart,
  tool,
  type UIMessageChunk,
  convertToModelMessages,
  DefaultChatTransport,
  type UIMessage,
  validateUIMessages,
} from "ai";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/turn/agent.ts";
import { json, problemIn, textOf, type Call, type MessagePage, ORIGIN } from "../support/edge.ts";
import { gate, halting } from "../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import { chunksIn, framesIn, textIn } from "../support/turn-client.ts";
import {
  finish,
  type Part,
  reasoning,
  type Step,
  scriptedModel,
  text,
  toolCall,
} from "byref/testing";
import { Chat } from "@ai-sdk/react";

type Own = { readonly call: Call };

/** The stock chat of a page that has just loaded these messages. */
function stockChat(own: Own, messages: readonly UIMessage[] = [], body: object = {}) {
  const fetchFrom: typeof fetch = (url, init) => own.call(init?.method ?? "GET", String(url), init);
  const api = `${ORIGIN}/conversations`;
  return new Chat<UIMessage>({
    id: "c",
    messages: [...messages],
    transport: new DefaultChatTransport({ api, body, fetch: fetchFrom }),
  });
}

/** The messages as a page loads them. They must be acceptable to the SDK's own functions. */
async function loaded(own: Own): Promise<readonly UIMessage[]> {
  const response = await own.call("GET", "/conversations/c/messages");
  const { messages } = await response.json<MessagePage>();
  if (messages.length > 0) {
    await expect(validateUIMessages({ messages })).resolves.toHaveLength(messages.length);
    await expect(convertToModelMessages([...messages])).resolves.toBeInstanceOf(Array);
  }
  return messages;
}

/** Requires that a chat is ready and shows what a page would load. */
async function expectSame(own: Own, chat: Chat<UIMessage>): Promise<void> {
  expect([chat.status, chat.error]).toEqual(["ready", undefined]);
  const parts = (messages: readonly UIMessage[]) =>
    JSON.parse(
      JSON.stringify(messages.map(({ id, role, parts }) => ({ id, role, parts }))),
    ) as unknown;
  expect(parts(chat.messages)).toEqual(parts(await loaded(own)));
}

const asked = finish("tool-calls");
const says = (words: string): Step => [text(words), finish()];
const done = says("Done.");
const fails: Step = [{ type: "error", error: new Error("It is down.") }];

interface Talk {
  readonly own: OwnRuntime;
  /** Everything that a client posts is about the conversation `c`. */
  readonly post: (body: object, headers?: Record<string, string>) => Promise<Response>;
  readonly texts: () => Promise<readonly string[]>;
  /** The prompt of the newest model call. */
  readonly prompt: () => string;
  /** How often `act` and `pay` ran. */
  readonly runs: { count: number };
  /** Resolves when `hold` runs, and lets it return. */
  readonly held: ReturnType<typeof gate>;
}

/** Runs `work` with an agent whose tools are those of these tests. `fetch_it` returns this JSON. */
async function talking(
  steps: readonly Step[],
  work: (talk: Talk) => Promise<void>,
  returned = "1",
): Promise<void> {
  const runs = { count: 0 };
  const held = gate();
  const inputSchema = z.object({ n: z.unknown().optional() });
  const tools = {
    act: tool({ inputSchema, execute: () => ++runs.count }),
    pay: tool({ inputSchema, needsApproval: true, execute: () => ++runs.count }),
    say: tool({ inputSchema, execute: () => "a\u2028b\u2029c\u0085d" }),
    hold: tool({ inputSchema, execute: () => held.wait() }),
    fetch_it: tool({ inputSchema, execute: () => JSON.parse(returned) as unknown }),
  };
  const agent: Agent = { name: "a", description: "", instructions: "", tools };
  const model = scriptedModel(steps);
  await withRuntime({ agents: [agent], model }, (own) =>
    work({
      own,
      runs,
      held,
      post: (body, headers) => own.call("POST", "/conversations/c/messages", json(body, headers)),
      texts: async () => (await loaded(own)).map(textOf),
      prompt: () => JSON.stringify(model.calls.at(-1)?.prompt),
    }),
  );
}

/** A model's end with this reason, as an endpoint wrote it. */
function ending(raw: string, unified: "length" | "content-filter" | "other"): readonly Part[] {
  return finish().map((part) =>
    part.type === "finish" ? { ...part, finishReason: { unified, raw } } : part,
  );
}

describe.each([
  ["length", "max_tokens", /output limit/],
  ["content-filter", "content_filter", /filter/],
  ["other", "tool_use", /gave no known reason/],
] as const)("an answer that ends with %s", (unified, raw, words) => {
  const step: Step = [text("So far"), ending(raw, unified)].flat();

  it("says so as JSON, to the same post sent again, in the history, and in the last line of text", async () => {
    await talking([step, step], async ({ own, post }) => {
      const body = { id: "c", messages: [{ id: "q", parts: [{ type: "text", text: "Go." }] }] };
      const send = () =>
        own.call("POST", "/conversations", json(body, { accept: "application/json" }));
      const said = { finishReason: unified, message: { metadata: { finishReason: unified } } };
      expect(await (await send()).json()).toMatchObject(said);
      own.wakeAgain();
      expect(await (await send()).json()).toMatchObject(said);
      expect((await loaded(own))[1]?.metadata).toMatchObject({ finishReason: unified });
      const plain = await (await post({ message: "Go." }, { accept: "text/plain" })).text();
      const lines = plain.trimEnd().split("\n");
      expect(lines[0]).toBe("So far");
      expect(lines.at(-1)).toMatch(new RegExp(`^\\[finish: ${unified}\\] `));
      expect(lines.at(-1)).toMatch(words);
    });
  });

  it.each([
    ["a whole call", toolCall("act", {}, { chunks: 1 })],
    ["half a call", toolCall("act", { n: 1 }, { chunks: 1 }).slice(0, 3)],
  ])("and %s shows why the call did not run", async (_, call) => {
    const cut: Step = [text("So far"), ...call, ...ending(raw, unified)].flat();
    await talking([cut, done], async ({ own, prompt, runs }) => {
      const chat = stockChat(own);
      await chat.sendMessage({ text: "Go." });
      await expectSame(own, chat);
      const errorText = expect.stringMatching(/^skipped: \S/);
      expect(chat.messages[1]?.parts.at(-1)).toMatchObject({ state: "output-error", errorText });
      await chat.sendMessage({ text: "And now?" });
      await expectSame(own, chat);
      expect(prompt()).toContain("skipped");
      expect(runs.count).toBe(0);
    });
  });
});

// A turn that fails, or whose model ends without ending its parts: test/turn/conformance.test.ts.
it.each<readonly [string, readonly Part[]]>([
  ["a text", text("So far").slice(0, -1)],
  ["reasoning", reasoning("Hm").slice(0, -1)],
  [
    "two texts and reasoning",
    [
      ...reasoning("Hm").slice(0, -1),
      ...text("One").slice(0, -1),
      ...text("Two", { id: "text_2" }).slice(0, -1),
    ],
  ],
  ["an input", toolCall("act", { n: 1 }, { chunks: 2 }).slice(0, 2)],
  ["a whole call", toolCall("act", {}, { chunks: 2 })],
  ["a text after a whole call", [...toolCall("act", {}), ...text("So far").slice(0, -1)]],
  [
    "a call of an unknown dynamic tool",
    [
      { type: "tool-input-start", id: "x", toolName: "nothing", dynamic: true },
      { type: "tool-input-delta", id: "x", delta: '{"a"' },
    ],
  ],
])("%s that the model has begun ends for a client that watches a stop", async (_, parts) => {
  const { reached, wait } = gate();
  await talking([halting(wait, parts, []), done], async ({ own }) => {
    const chat = stockChat(own);
    const asking = chat.sendMessage({ text: "Go." });
    await reached;
    await own.call("POST", "/conversations/c/stop");
    await asking;
    const shown = JSON.parse(JSON.stringify(chat.messages[1]?.parts)) as { state?: string }[];
    expect(shown.length).toBeGreaterThan(1);
    const states = shown.map(({ state = "done" }) => state);
    expect(["done", "output-error", "output-denied"]).toEqual(expect.arrayContaining(states));
    expect((await loaded(own))[1]?.parts).toEqual(shown);
    await chat.sendMessage({ text: "And now?" });
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
  });
});

it("a user's message metadata is kept, in an edit too, and no model sees it", async () => {
  await talking([done, done], async ({ own, prompt }) => {
    const chat = stockChat(own);
    const metadata = { sentFrom: "PHONE", tags: [1, null] };
    await chat.sendMessage({ text: "Hi.", metadata });
    own.wakeAgain();
    expect((await loaded(own))[0]?.metadata).toEqual(metadata);
    const messageId = chat.messages[0]?.id ?? "";
    await chat.sendMessage({ text: "Ho.", messageId, metadata: { sentFrom: "DESK" } });
    expect((await loaded(own))[0]?.metadata).toEqual({ sentFrom: "DESK" });
    expect(prompt()).not.toMatch(/PHONE|DESK/u);
  });
});

const said = { toolCallId: "s", toolName: "s" };
const both: Step = [toolCall("say", { n: 1 }), toolCall("say", { n: 2 }), asked].flat();

it.each<[string, Step, ...string[]]>([
  ["fails (vercel/ai#10638)", fails],
  ["says nothing", finish()],
  ["says nothing but white space", [text("\n"), finish()].flat()],
  ["begins no text (#11765)", [text("Hm."), finish()].flat().slice(1), '"Hm."'],
  ["begins no reasoning (#18553)", [...reasoning("Hm.").slice(1), ...finish()], '"Hm."'],
  ["says what no tool said", [{ type: "tool-result", ...said, result: 1 }, ...finish()]],
  ["gives two calls one id (camel-ai/camel#3027)", both, '{"n":1}', '{"n":2}'],
])("a model that %s leaves a message that the SDK accepts", async (_, step, ...parts) => {
  await talking([step, done, done], async ({ own }) => {
    await stockChat(own).sendMessage({ text: "Go." });
    const chat = stockChat(own, await loaded(own));
    await chat.sendMessage({ text: "And now?" });
    await expectSame(own, chat);
    expect(await loaded(own)).toHaveLength(4);
    for (const part of parts) expect(JSON.stringify(await loaded(own))).toContain(part);
  });
});

it("a page that loads in the middle of an answer shows it once (vercel/ai#14688, #13160) after a decision, which continues a message that it has", async () => {
  const first: Step = [text("So: "), toolCall("pay", {}), asked].flat();
  const next: Step = [toolCall("hold", {}), asked].flat();
  await talking([first, next, done], async ({ own, held, runs, texts }) => {
    const chat = stockChat(own);
    await chat.sendMessage({ text: "Go." });
    const id = JSON.stringify(chat.messages).match(/"approval":\{"id":"([^"]+)"/u)?.[1] ?? "";
    const decided = own.call("POST", `/conversations/c/approvals/${id}`, json({ approved: true }));
    await held.reached;
    const second = stockChat(own, await loaded(own));
    const resuming = second.resumeStream();
    held.open();
    await Promise.all([(await decided).text(), resuming]);
    await expectSame(own, second);
    expect(await texts()).toEqual(["Go.", "So: Done."]);
    expect(runs.count).toBe(1);
  });
});

it("frames have no characters at which clients split lines (modelcontextprotocol/typescript-sdk#1926, langgenius/dify#39008)", async () => {
  const calls: Step = [toolCall("say", {}), asked].flat();
  await talking([calls, says("x\u2028y\u0085z")], async ({ own, post }) => {
    expect(await (await post({ message: "Go." })).text()).not.toMatch(/[\u0085\u2028\u2029]/u);
    const [, answer] = await loaded(own);
    expect(textOf(answer)).toBe("x\u2028y\u0085z");
    const output = { value: "a\u2028b\u2029c\u0085d" };
    expect(answer?.parts[1]).toMatchObject({ output });
  });
});

/** Requires that a stock client accepts all that it may receive of the newest turn. */
async function expectStrict(own: OwnRuntime): Promise<void> {
  const resumed = await own.call("GET", "/conversations/c/stream?after=0");
  const frames = framesIn(await resumed.text()).filter(({ data }) => data !== "[DONE]");
  expect(frames.length).toBeGreaterThan(3);
  for (const { data } of frames) expect(() => secureJsonParse(data)).not.toThrow();
  const history = await (await own.call("GET", "/conversations/c/messages")).text();
  expect(() => secureJsonParse(history)).not.toThrow();
  await loaded(own);
}

describe.each([
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{"a":1}}}',
  '[{"id":1,"tags":[{"__proto__":null}]}]',
])("the value %s, which the SDK's clients refuse to parse,", (value) => {
  const result = JSON.parse(value) as never;
  const found = { type: "tool-result", toolCallId: "call_x", toolName: "x", result } as const;
  const provided = toolCall("x", {}).map((part) => ({ ...part, providerExecuted: true }));

  it.each<readonly [string, Step, RegExp]>([
    [
      "a tool returns",
      [toolCall("fetch_it", {}), asked].flat(),
      new RegExp(`^(?!.*"value":).*"\\$var":"fetch_it_1".*"bytes":${value.length}`),
    ],
    [
      "read_variable shows",
      [toolCall("read_variable", { name: "given" }), asked].flat(),
      /"output-available"/,
    ],
    ["a provider's own tool returns", [...provided, found, ...text("Done."), ...finish()], /proto/],
    [
      "the model writes as an input",
      [toolCall("act", `{"n":${value}}`, { chunks: 3 }), asked].flat(),
      /"invalid_tool_input: The input has a key `__proto__`/,
    ],
  ])("does not end the stream where %s", async (_, step, shown) => {
    await talking(
      [step, done, done],
      async ({ own }) => {
        const headers = { "content-type": "application/json" };
        await own.call("PUT", "/conversations/c/variables/given", { body: value, headers });
        const chat = stockChat(own);
        await chat.sendMessage({ text: "Go." });
        await expectSame(own, chat);
        await expectStrict(own);
        expect(JSON.stringify(chat.messages[1]?.parts[1])).toMatch(shown);
        const kept = await own.call("GET", "/conversations/c/variables/fetch_it_1");
        if (kept.status === 200) expect(await kept.text()).toBe(value);
      },
      value,
    );
  });
});

describe("another answer", () => {
  /** Asks "One?" and "Two?", answered with A and B, and then loads the page again. */
  const talkingAgain = (
    more: readonly Step[],
    work: (talk: Talk & { readonly chat: ReturnType<typeof stockChat> }) => Promise<void>,
  ) =>
    talking([says("A."), says("B."), ...more], async (talk) => {
      const first = stockChat(talk.own);
      await first.sendMessage({ text: "One?" });
      await first.sendMessage({ text: "Two?" });
      await work({ ...talk, chat: stockChat(talk.own, await loaded(talk.own)) });
    });

  it("replaces the old one when it is complete, which is in no prompt for it", async () => {
    const { reached, open, wait } = gate();
    const anew = halting(wait, [text("C")], [text(".", { id: "2" }), finish()].flat());
    await talkingAgain([anew], async ({ own, chat, prompt, texts }) => {
      const asking = chat.regenerate();
      await reached;
      expect(await texts()).toEqual(["One?", "A.", "Two?", "B."]);
      expect(prompt()).not.toContain("B.");
      open();
      await asking;
      await expectSame(own, chat);
      expect(await texts()).toEqual(["One?", "A.", "Two?", "C."]);
      expect(own.conversation().about().messages).toBe(4);
    });
  });

  it("to an older question is refused with 409, also over the messages of an answer", async () => {
    await talkingAgain([], async ({ own }) => {
      const messages = (await loaded(own)).slice(0, 2);
      for (const some of [messages, messages.slice(0, 1)]) {
        const body = json({ id: "c", messages: some, trigger: "regenerate-message" });
        const problem = await problemIn(await own.call("POST", "/conversations", body), "conflict");
        expect(problem.detail).toContain("messageId");
      }
    });
  });

  it("to an older question replaces all that follows if the client names the message", async () => {
    await talkingAgain([says("C.")], async ({ own, chat, prompt, texts }) => {
      await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
      await expectSame(own, chat);
      expect(await texts()).toEqual(["One?", "C."]);
      expect(prompt()).not.toMatch(/A\.|Two|B\./u);
    });
  });
});

const photo: FileUIPart = {
  type: "file",
  mediaType: "image/png",
  filename: "été.png",
  url: "data:image/png;base64,iVBORw0KGgo=",
};

describe("a question with a file, after a reload,", () => {
  const withPhoto = (
    steps: readonly Step[],
    work: (talk: Talk & { readonly chat: ReturnType<typeof stockChat> }) => Promise<void>,
  ) =>
    talking(steps, async (talk) => {
      await stockChat(talk.own).sendMessage({ text: "What is it?", files: [photo] });
      await work({ ...talk, chat: stockChat(talk.own, await loaded(talk.own)) });
      expect(talk.prompt()).toContain('\\"$var\\":\\"ete\\"');
      const second = await talk.own.call("GET", "/conversations/c/variables/ete_2");
      expect(second.status).toBe(404);
    });
  const filesOf = ({ messages }: ReturnType<typeof stockChat>) =>
    (messages[0]?.parts ?? []).filter((part) => part.type === "file");

  it("is edited and keeps its file", async () => {
    await withPhoto([says("A."), says("B.")], async ({ own, chat, texts }) => {
      const files = filesOf(chat);
      await chat.sendMessage({ messageId: chat.messages[0]?.id ?? "", text: "And now?", files });
      expect(chat.error).toBeUndefined();
      expect(await texts()).toEqual(["And now?", "B."]);
      expect(filesOf(stockChat(own, await loaded(own)))).toEqual(files);
    });
  });

  it("is sent again after its turn failed, and stays one message", async () => {
    await withPhoto([fails, says("B.")], async ({ own, chat, texts }) => {
      const body = json({ id: "c", messages: chat.messages.slice(0, 1) }, { accept: "text/plain" });
      expect(await (await own.call("POST", "/conversations", body)).text()).toBe("B.");
      expect(await texts()).toEqual(["What is it?", "B."]);
    });
  });

  it("cannot be asked again if its variable is gone", async () => {
    await withPhoto([says("A."), says("B.")], async ({ own, chat, post }) => {
      await own.call("DELETE", "/conversations/c/variables/ete");
      const response = await post({ message: { parts: filesOf(chat) } });
      expect(await response.text()).toContain("variable_not_found");
      expect(await loaded(own)).toHaveLength(2);
    });
  });
});

it.each([
  "/conversations/d/variables/x",
  "http://localhost/conversations/c/variables/x",
  "/conversations/c/variables/",
  "/conversations/c/variables/x/info",
  "/conversations/c/variables/x?path=y",
  "https://example.com/a.png",
  "file:///etc/passwd",
  "blob:x",
])("a file of a message is refused at %s", async (url) => {
  await talking([], async ({ own, post }) => {
    await problemIn(await post({ message: { parts: [{ ...photo, url }] } }), "bad_value");
    expect((await own.call("GET", "/conversations/c")).status).toBe(404);
  });
});

describe("a client of AI SDK 6 that says so", () => {
  /** The types of chunks in the schema of `ai` 6.0.326, which refuses any other. `data-` stands for all data. */
  const KNOWN = new Set(
    `text-start text-delta text-end error tool-input-start tool-input-delta tool-input-available tool-input-error
    tool-approval-request tool-output-available tool-output-error tool-output-denied reasoning-start reasoning-delta
    reasoning-end source-url source-document file data- start-step finish-step start finish abort
    message-metadata`.split(/\s+/u),
  );
  const SIX = { accept: "text/event-stream;sdk=6" };
  const unknownIn = (chunks: readonly UIMessageChunk[]) =>
    chunks.map(({ type }) => type.replace(/^data-.*/u, "data-")).filter((type) => !KNOWN.has(type));

  it("receives a failed try of the model as ended texts, and a data part", async () => {
    const overloaded = Object.assign(new Error("Overloaded."), { isRetryable: true });
    const breaks: Step = [...text("So f").slice(0, -1), { type: "error", error: overloaded }];
    await talking([breaks, says("So far.")], async ({ own, post }) => {
      const stream = await (await post({ message: "Go." }, SIX)).text();
      const chunks = chunksIn(stream);
      expect(unknownIn(chunks)).toEqual([]);
      const data = { type: "reset-step" };
      expect(chunks).toContainEqual({ type: "data-reset-step", data, transient: true });
      expect(textIn(chunks)).toBe("So fSo far.");
      const count = (type: string) => chunks.filter((chunk) => chunk.type === type).length;
      expect([count("text-start"), count("text-end")]).toEqual([2, 2]);
      const watched = async (headers: Record<string, string>) =>
        (await own.call("GET", "/conversations/c/stream?after=0", { headers })).text();
      // The frames have the same ids for all clients, so that each may continue after its last.
      const idsOf = (frames: string) => framesIn(frames).flatMap(({ id }) => id ?? []);
      expect([...new Set(idsOf(stream))]).toEqual(idsOf(await watched({})));
      expect(unknownIn(chunksIn(await watched(SIX)))).toEqual([]);
    });
  });

  it("receives a decision as a data part", async () => {
    const pays: Step = [toolCall("pay", {}), asked].flat();
    await talking([pays, says("So far.")], async ({ own, post }) => {
      const stream = await (await post({ message: "Go." }, SIX)).text();
      const [, id] = /"approvalId":"([^"]+)"/u.exec(stream) ?? [];
      const init = json({ approved: true }, SIX);
      const decided = await own.call("POST", `/conversations/c/approvals/${id}`, init);
      const chunks = chunksIn(await decided.text());
      expect(unknownIn(chunks)).toEqual([]);
      expect(chunks.map(({ type }) => type)).toContain("data-tool-approval-response");
      expect(textIn(chunks)).toBe("So far.");
    });
  });
});
