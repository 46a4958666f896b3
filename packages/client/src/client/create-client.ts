import { type ClientOptions, connect, pathTo } from "./connection.ts";
import { type AboutConversation, type ClientConversation, conversationOf } from "./conversation.ts";
import { programsOf } from "./programs.ts";
import type { AgentsDescription } from "../../../../src/internal.ts";
import type { PromptDescription } from "../../../../src/internal-tool.ts";

export interface ConversationQuery {
  /** Default: 200, which is also the maximum. */
  readonly limit?: number | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  /** Words of the title, in any case and order. A page may then be short, or empty, and have a `next`. */
  readonly search?: string | undefined;
}

export interface ConversationPage {
  readonly conversations: readonly ListedConversation[];
  /** Set if there are more. */
  readonly next?: string;
  /** Set while `DELETE /conversations?all=true` goes on. */
  readonly deletion?: {
    readonly startedAt: string;
    readonly deleted: number;
    readonly remaining: number;
  };
}

export type ListedConversation = Omit<AboutConversation, "messages" | "variables" | "bytes">;

/** A client of one server. Error responses and failed requests throw a `ClientError`. */
export type Client = ReturnType<typeof createClient>;

/** Creates a client of the server at this URL. Runs in browsers, Node 20 and later, and Workers. */
export function createClient(url: string, options: ClientOptions = {}) {
  const root = url.replace(/\/$/, "");
  const connection = connect(root, options);
  const { ask } = connection;
  const client = {
    /** Sends no request: a conversation is created by the first write to it. */
    conversation: (id: string): ClientConversation =>
      conversationOf(connect(root + pathTo("conversations", id), options), client, id),
    /** Lists a page of the key's conversations, by last activity. Needs the binding `DIRECTORY`. */
    conversations: (query: ConversationQuery = {}): Promise<ConversationPage> =>
      ask("GET", "/conversations", { query: { ...query } }),
    programs: programsOf(connection),
    agents: (): Promise<AgentsDescription> => ask("GET", "/agents"),
    /** Returns the prompt of a model, with sizes in characters. Without a conversation, it is that of a first call. */
    prompt: (
      agent: string,
      query: { readonly conversation?: string | undefined } = {},
    ): Promise<PromptDescription> => ask("GET", pathTo("agents", agent, "prompt"), { query }),
    health: (): Promise<{ readonly ok: true; readonly version: string }> => ask("GET", "/health"),
  };
  return client;
}
