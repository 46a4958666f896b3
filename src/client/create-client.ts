import { type ClientOptions, connect } from "./connection.ts";
import { ClientConversation } from "./conversation.ts";

/** A client of one server. Error responses and failed requests throw a `ClientError`. */
export interface Client {
  /** Sends no request: a conversation is created by the first write to it. */
  conversation(id: string): ClientConversation;
  agents(): Promise<{
    readonly agents: readonly { readonly name: string; readonly description: string }[];
  }>;
  health(): Promise<{ readonly ok: true; readonly version: string }>;
}

/** Creates a client of the server at this URL. Runs in browsers, Node 20 and later, and Workers. */
export function createClient(url: string, options: ClientOptions = {}): Client {
  const root = url.replace(/\/$/, "");
  const { ask } = connect(root, options);
  return {
    conversation: (id) =>
      new ClientConversation(connect(`${root}/conversations/${encodeURIComponent(id)}`, options)),
    agents: () => ask("GET", "/agents"),
    health: () => ask("GET", "/health"),
  };
}
