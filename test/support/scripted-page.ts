import { type ChatCompletions, type ChatStep, startChatCompletions } from "./chat-completions.ts";
import { type RunningMcpServer, startMcpServer, textResult } from "./mcp-server.ts";
import { startServer } from "./server.ts";
import { offeredTools } from "./workflow-cases.ts";

/** A server whose model says what each test wants, by the question it is asked. */
export interface ScriptedPage {
  readonly url: string;
  /** Has a tool that waits for a person, `send_mail(text)`, and those of the specification's workflows. */
  readonly mail: RunningMcpServer;
  /** What the model says, request by request, to this question. No two tests ask the same. */
  answer(question: string, ...steps: readonly ChatStep[]): void;
  /** How often the model has been asked this question. */
  asked(question: string): number;
  stop(): Promise<void>;
}

export async function startScriptedPage(): Promise<ScriptedPage> {
  const script = new Script();
  const endpoint = await startChatCompletions((body) => script.next(body));
  const mail = await startMcpServer([
    { name: "send_mail", answer: ({ text }) => textResult(`sent ${String(text)}`) },
    ...(await offeredTools()),
  ]);
  const tools = { send_mail: { approval: true } };
  const server = await startServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MODEL_API_KEY: "key",
    MCP_SERVERS: JSON.stringify([{ name: "mail", url: mail.url, tools }]),
  });
  return {
    url: server.url,
    mail,
    answer: (question, ...steps) => script.say(question, steps),
    asked: (question) => script.asked(question),
    stop: async () => {
      await server.stop();
      await endpoint.down();
      await mail.down();
    },
  };
}

type Body = ChatCompletions["requests"][number]["body"];

const UNEXPECTED = { error: { message: "No test has said what is answered here." } };

class Script {
  readonly #steps = new Map<string, ChatStep[]>();
  readonly #asked = new Map<string, number>();

  say(question: string, steps: readonly ChatStep[]): void {
    this.#steps.set(question, [...(this.#steps.get(question) ?? []), ...steps]);
  }

  asked(question: string): number {
    return this.#asked.get(question) ?? 0;
  }

  next({ messages }: Body): ChatStep {
    const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
    // Behind the question the runtime may list the variables.
    const question = said.findLast((text) => this.#steps.has(text ?? "")) ?? "";
    this.#asked.set(question, this.asked(question) + 1);
    const step = this.#steps.get(question)?.shift();
    return step ?? { kind: "status", status: 400, body: JSON.stringify(UNEXPECTED) };
  }
}
