import type { UIMessage } from "ai";
import { ClientError, type MessagePage } from "../../../packages/client/src/client.ts";
import type { Session } from "../session.ts";

/** A conversation as stored on the server. */
export interface Loaded {
  readonly messages: readonly UIMessage[];
  /** Cursor of older messages; undefined if there are none. */
  readonly next: string | undefined;
  /** False if the conversation has no messages yet. */
  readonly exists: boolean;
}

const PAGE = 50;

/** Returns no messages for a conversation that does not exist. */
export async function loadMessages(session: Session, before?: string): Promise<MessagePage> {
  const { client, conversation } = session;
  const query = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  const page = client.conversation(conversation).messages(query);
  return (await undefinedIfMissing(page)) ?? { messages: [] };
}

/** Resolves with undefined if the conversation does not exist. */
export function aboutOf({ client, conversation }: Session) {
  return undefinedIfMissing(client.conversation(conversation).about());
}

async function undefinedIfMissing<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}
