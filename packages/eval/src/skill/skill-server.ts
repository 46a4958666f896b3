import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { type ChatMessage, type ChatRequest, type Reply, textOf } from "./chat-request.ts";
import type { Skill } from "./skills.ts";
import { solve } from "./solve.ts";

/** A server on the loopback address that speaks OpenAI's chat completions. */
export interface SkillServer {
  /** Ends with `/v1`. */
  readonly url: string;
  /** Number of requests so far. */
  readonly requests: number;
  close(): Promise<void>;
}

export interface SkillServerOptions {
  /** Returns a status and headers in place of an answer, such as 429. Default: answers all. */
  readonly refuse?: (request: number, body: string) => Refusal | undefined;
}

interface Refusal {
  readonly status: number;
  /** Default: `Refused.` */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const CHARS_PER_TOKEN = 4;
/** Providers cache prompts from this length on. */
const MIN_CACHED_TOKENS = 1_024;

/** Starts a model of this skill. */
export async function startSkillServer(
  skill: Skill,
  { refuse }: SkillServerOptions = {},
): Promise<SkillServer> {
  let requests = 0;
  const prompts = new Map<string, string>();
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      send(response, { status: 500 }, { error: { message: String(error) } });
    });
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++;
    const number = requests;
    const text = await bodyOf(request);
    const refusal = refuse?.(number, text);
    if (refusal !== undefined) {
      send(response, refusal, { error: { message: refusal.message ?? "Refused." } });
      return;
    }
    // The AI SDK has written it.
    const body = JSON.parse(text) as ChatRequest;
    const prompt = JSON.stringify(body.messages);
    const reply = solve(body, skill);
    const cached = cachedTokens(prompts, body.messages, prompt);
    send(response, { status: 200 }, completion(reply, { prompt: text, cached }));
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, { status, headers }: Refusal, body: object): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Tokens of the common start of this prompt and the previous one in the conversation. */
function cachedTokens(
  prompts: Map<string, string>,
  messages: readonly ChatMessage[],
  prompt: string,
): number {
  const conversation = messages
    .filter(({ role }) => role !== "tool")
    .slice(0, 2)
    .map(textOf)
    .join();
  const before = prompts.get(conversation) ?? "";
  prompts.set(conversation, prompt);
  let same = 0;
  while (same < before.length && before[same] === prompt[same]) same++;
  const tokens = Math.floor(same / CHARS_PER_TOKEN);
  return tokens < MIN_CACHED_TOKENS ? 0 : tokens;
}

interface Counted {
  readonly prompt: string;
  readonly cached: number;
}

/** The ids are those of the prompt, so that the same prompt has the same answer. */
function completion(reply: Reply, { prompt, cached }: Counted): object {
  const number = createHash("sha256").update(prompt).digest("hex").slice(0, 12);
  const message =
    "text" in reply
      ? { role: "assistant", content: reply.text }
      : {
          role: "assistant",
          content: null,
          tool_calls: reply.calls.map(({ tool, input }, index) => ({
            id: `call_${number}_${index}`,
            type: "function",
            function: { name: tool, arguments: JSON.stringify(input) },
          })),
        };
  const [input, output] = [prompt.length, JSON.stringify(message).length].map((chars) =>
    Math.ceil(chars / CHARS_PER_TOKEN),
  );
  return {
    id: `chatcmpl-${number}`,
    object: "chat.completion",
    created: 1,
    model: "scripted",
    choices: [{ index: 0, message, finish_reason: "text" in reply ? "stop" : "tool_calls" }],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: (input ?? 0) + (output ?? 0),
      prompt_tokens_details: { cached_tokens: cached },
    },
  };
}
