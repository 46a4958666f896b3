import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content?: string | null;
  readonly tool_calls?: readonly ToolCall[];
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

interface ChatRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ChatBody;
}

/** What the model says to one request. */
export type ChatStep =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Awaited after the first half of the text has left. */
      readonly hold?: Promise<unknown>;
    }
  | {
      readonly kind: "calls";
      readonly calls: readonly { readonly name: string; readonly input: object }[];
    }
  /** Not a stream: a status and a body, e.g. `401` with an error document. */
  | { readonly kind: "status"; readonly status: number; readonly body: string }
  /** Text, and then the connection is gone. */
  | { readonly kind: "cut"; readonly text: string }
  /** 200 and bytes that are no answer. */
  | { readonly kind: "garbage"; readonly type: string; readonly body: string };

export type Script = readonly ChatStep[] | ((body: ChatBody) => ChatStep);

export interface ChatCompletions {
  /** The endpoint, `/v1` included. */
  readonly url: string;
  /** Since the last `play`, oldest first. */
  readonly requests: readonly ChatRequest[];
  /** Says these from now on. A request beyond the list's end is answered 500. */
  play(script: Script): void;
  /** Connections are refused from now on. */
  down(): Promise<void>;
  /** At the same address as before. */
  up(): Promise<void>;
}

/** What `usage` says of every answer. */
export const TOKENS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } as const;

/** An endpoint that speaks OpenAI's chat completions, on the loopback address. */
export async function startChatCompletions(script: Script = []): Promise<ChatCompletions> {
  let playing = script;
  let requests: ChatRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request);
      requests.push({ path: request.url ?? "", headers: request.headers, body });
      const step = typeof playing === "function" ? playing(body) : playing[requests.length - 1];
      await answer(response, step ?? beyondScript, requests.length);
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const listen = (port: number) =>
    new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(port, "127.0.0.1", done);
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    play(next) {
      playing = next;
      requests = [];
    },
    up: () => listen(port),
    down: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const beyondScript: ChatStep = {
  kind: "status",
  status: 500,
  body: JSON.stringify({ error: { message: "The script of the test has ended." } }),
};

async function readBody(request: IncomingMessage): Promise<ChatBody> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text) as ChatBody;
}

async function answer(response: ServerResponse, step: ChatStep, number: number): Promise<void> {
  if (step.kind === "status" || step.kind === "garbage") {
    const status = step.kind === "status" ? step.status : 200;
    const type = step.kind === "status" ? "application/json" : step.type;
    response.writeHead(status, { "content-type": type }).end(step.body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (choices: readonly object[], more: object = {}) => {
    const head = { id: `chatcmpl-${number}`, object: "chat.completion.chunk", created: 1 };
    const chunk = { ...head, model: "test-model", choices, ...more };
    return new Promise<void>((done) => {
      response.write(`data: ${JSON.stringify(chunk)}\n\n`, () => done());
    });
  };
  const say = (delta: object) => send([{ index: 0, delta, finish_reason: null }]);
  if (step.kind === "calls") {
    await sayCalls(step.calls, say, number);
  } else {
    const [first, second] = halves(step.text);
    await say({ role: "assistant", content: "" });
    await say({ content: first });
    if (step.kind === "cut") {
      response.destroy();
      return;
    }
    await step.hold;
    await say({ content: second });
  }
  const reason = step.kind === "calls" ? "tool_calls" : "stop";
  await send([{ index: 0, delta: {}, finish_reason: reason }]);
  await send([], { usage: TOKENS });
  response.end("data: [DONE]\n\n");
}

/** As OpenAI does it: a call's id and name first, then its arguments in fragments. */
async function sayCalls(
  calls: Extract<ChatStep, { kind: "calls" }>["calls"],
  say: (delta: object) => Promise<void>,
  number: number,
): Promise<void> {
  for (const [index, { name, input }] of calls.entries()) {
    const call = { index, id: `call_${number}_${index}`, type: "function" };
    await say({ tool_calls: [{ ...call, function: { name, arguments: "" } }] });
    for (const [fragment] of JSON.stringify(input).matchAll(/.{1,5}/gsu)) {
      await say({ tool_calls: [{ index, function: { arguments: fragment } }] });
    }
  }
}

/** Cut where it hurts: behind the first dollar of a reference, if there is one. */
function halves(text: string): readonly [string, string] {
  const dollar = text.indexOf("$");
  const at = dollar === -1 ? Math.ceil(text.length / 2) : dollar + 1;
  return [text.slice(0, at), text.slice(at)];
}
