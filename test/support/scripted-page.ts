import { type ChatCompletions, type ChatStep, startChatCompletions } from "./chat-completions.ts";
import { type RunningMcpServer, startMcpServer, textResult } from "./mcp-server.ts";
import { startWorkerServer } from "./worker-server.ts";
import { offeredTools } from "./workflow-cases.ts";

/** A server whose model answers each question as its test has scripted. */
interface ScriptedPage {
  readonly url: string;
  /** Offers `send_mail(text)`, which needs approval, and the tools of the specification's workflows. */
  readonly mail: RunningMcpServer;
  /** Scripts the model's answers to a question, one step per request. Each test asks a different question. */
  answer(question: string, ...steps: readonly ChatStep[]): void;
  /** Returns how often the model was asked this question. */
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
  const server = await startWorkerServer({
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
    // The runtime joins the question with what a person said before, and with the list of variables.
    const texts = said.flatMap((text) => (text ? [text, ...text.split("\n\n")] : []));
    const question = texts.findLast((text) => this.#steps.has(text)) ?? "";
    this.#asked.set(question, this.asked(question) + 1);
    const step = this.#steps.get(question)?.shift();
    return step ?? { kind: "status", status: 400, body: JSON.stringify(UNEXPECTED) };
  }
}
