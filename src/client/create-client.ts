import { type ClientOptions, connect } from "./connection.ts";
import { ClientConversation } from "./conversation.ts";

/** A server, as a client sees it. What it refuses, or does not answer, is a `ClientError`. */
export interface Client {
  /** Asks nothing yet: a conversation is there once something is written to it. */
  conversation(id: string): ClientConversation;
  agents(): Promise<{
    readonly agents: readonly { readonly name: string; readonly description: string }[];
  }>;
  health(): Promise<{ readonly ok: true; readonly version: string }>;
}

/** A client of the server at this address; runs in browsers, Node 20 and later, and Workers. */
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
