import type {
  InputRequest,
  InputResponse,
  LoggingMessageNotificationParams,
} from "@modelcontextprotocol/client";
import { strictestVisibility, type Visibility } from "../../../src/internal.ts";
import { type ClientOfCall, QUESTIONS } from "./client-of-gateway.ts";

/**
 * The clients of a server's running calls. A server's question or log line does not name its call, so it is
 * attributed to the newest call, and is as guarded as the most guarded call.
 */
export class CallingClients {
  readonly #server: string;
  #clients: readonly ClientOfCall[] = [];

  constructor(server: string) {
    this.#server = server;
  }

  /** Visibility of the server's messages. */
  get visibility(): Visibility {
    return strictestVisibility(this.#clients.map(({ visibility = "model" }) => visibility));
  }

  /** Adds the client of a call while it runs. */
  async during<Result>(client: ClientOfCall, run: () => Promise<Result>): Promise<Result> {
    this.#clients = [...this.#clients, client];
    try {
      return await run();
    } finally {
      this.#clients = this.#clients.filter((one) => one !== client);
    }
  }

  /** Passes a line of the server's log on, unless it may have guarded values. */
  log(line: LoggingMessageNotificationParams): void {
    if (this.visibility === "model") this.#clients.at(-1)?.onLog?.(line);
  }

  /**
   * Sends the question to the newest call's client, or to `outside` if no call runs. Rejects if neither can answer,
   * or if they must not see the call's values.
   */
  async ask(
    question: InputRequest,
    outside?: () => Promise<InputResponse>,
  ): Promise<InputResponse> {
    const client = this.#clients.at(-1);
    if (!maySee(question, this.visibility)) throw new Error("The call has guarded values.");
    const asked =
      client === undefined ? outside?.() : client.onQuestion?.(attributed(question, this.#server));
    if (asked === undefined) throw new Error("There is nobody to ask.");
    return asked;
  }
}

/** A sampled model must not see guarded values, a person no secrets. */
function maySee({ method }: InputRequest, visibility: Visibility): boolean {
  if (method === QUESTIONS.sampling) return visibility === "model";
  return method === QUESTIONS.roots || visibility !== "secret";
}

/** Names the server in its question, because a person or a model would otherwise attribute it to the gateway. */
function attributed(question: InputRequest, server: string): InputRequest {
  const asks = `The MCP server "${server}" asks:`;
  switch (question.method) {
    case QUESTIONS.elicitation: {
      const { params } = question;
      return { ...question, params: { ...params, message: `${asks}\n\n${params.message}` } };
    }
    case QUESTIONS.sampling: {
      // A client would take the servers for the gateway's own.
      const { includeContext: _context, systemPrompt, ...params } = question.params;
      const prompt = systemPrompt === undefined ? asks : `${asks}\n\n${systemPrompt}`;
      return { ...question, params: { ...params, systemPrompt: prompt } };
    }
    default:
      return question;
  }
}
