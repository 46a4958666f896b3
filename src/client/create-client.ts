import { type ClientOptions, connect } from "./connection.ts";
import { ClientConversation } from "./conversation.ts";
import type { AgentsDescription } from "../edge/page-options.ts";
import type { PromptDescription } from "../turn/describe-prompt.ts";

/** A client of one server. Error responses and failed requests throw a `ClientError`. */
export interface Client {
  /** Sends no request: a conversation is created by the first write to it. */
  conversation(id: string): ClientConversation;
  agents(): Promise<AgentsDescription>;
  /** Returns the prompt of a model, with sizes in characters. Without a conversation, it is that of a first call. */
  prompt(
    agent: string,
    query?: { readonly conversation?: string | undefined },
  ): Promise<PromptDescription>;
  health(): Promise<{ readonly ok: true; readonly version: string }>;
}

/** Creates a client of the server at this URL. Runs in browsers, Node 20 and later, and Workers. */
export function createClient(url: string, options: ClientOptions = {}): Client {
  const root = url.replace(/\/$/, "");
  const { ask } = connect(root, options);
  const client: Client = {
    conversation: (id) => {
      const connection = connect(`${root}/conversations/${encodeURIComponent(id)}`, options);
      return new ClientConversation(connection, client, id);
    },
    agents: () => ask("GET", "/agents"),
    prompt: (agent, query = {}) =>
      ask("GET", `/agents/${encodeURIComponent(agent)}/prompt`, { query }),
    health: () => ask("GET", "/health"),
  };
  return client;
}
