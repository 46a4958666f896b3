import type { UIMessage } from "ai";
import { ClientError, type MessagePage } from "../../../src/client.ts";
import type { Session } from "../session.ts";

/** What the server has of a conversation when the page is opened. */
export interface Loaded {
  readonly messages: readonly UIMessage[];
  /** There are older ones; undefined if there are none. */
  readonly next: string | undefined;
  /** False if nobody has ever asked anything. */
  readonly exists: boolean;
}

const PAGE = 50;

/** None for a conversation that never was. */
export async function loadMessages(session: Session, before?: string): Promise<MessagePage> {
  const { client, conversation } = session;
  const query = { limit: PAGE, ...(before === undefined ? {} : { before }) };
  const page = client.conversation(conversation).messages(query);
  return (await undefinedIfMissing(page)) ?? { messages: [] };
}

/** Undefined if it never was. */
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
