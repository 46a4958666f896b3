import type { ConversationSummary } from "../conversation-data.ts";
import { conversationIn, type ObjectContext } from "../conversation-name.ts";
import { throttled } from "../throttled.ts";
import { callDirectory, hasDirectory, type RemoteDirectory } from "./directory-client.ts";
import type { DirectoryEntry } from "./directory.ts";

export interface IndexedConversation extends ObjectContext {
  /** Undefined until something is written. */
  readonly data: { readonly summary: ConversationSummary } | undefined;
}

/**
 * Keeps the conversation's entry in its tenant's directory current. No request waits for it, and it writes
 * nothing in the conversation: the last entry sent is known in memory only, so an object that wakes sends it
 * again. A lost entry is replaced by the next one.
 */
export class ConversationIndex {
  readonly #conversation: IndexedConversation;
  /** Undefined if conversations are not listed. */
  readonly #id: string | undefined;
  #sent: (DirectoryEntry & { readonly sentMs: number }) | undefined;
  /** Calls run one after the other, so that none overtakes a removal. */
  #calls: Promise<void> = Promise.resolve();

  constructor(conversation: IndexedConversation) {
    this.#conversation = conversation;
    const { env, state } = conversation;
    this.#id = hasDirectory(env) ? conversationIn(state.id.name)?.id : undefined;
  }

  /** Calls `update` after a short delay, so that a turn's first words do not wait for it. */
  readonly updateSoon = throttled(UPDATE_DELAY_MS, () => this.update());

  /** Sends a new title at once, and a new time of activity once a minute. Does not throw. */
  update(): void {
    try {
      const entry = this.#changedEntry();
      if (entry === undefined) return;
      this.#sent = { ...entry, sentMs: Date.now() };
      this.#call((directory) => directory.put(entry));
    } catch (error) {
      console.error(error);
    }
  }

  /** Call this when the conversation is deleted. */
  remove(): void {
    this.#sent = undefined;
    const id = this.#id;
    if (id !== undefined) this.#call((directory) => directory.remove(id));
  }

  #changedEntry(): DirectoryEntry | undefined {
    const { data } = this.#conversation;
    const id = this.#id;
    if (id === undefined || data === undefined) return undefined;
    const { title, createdAt, updatedAt } = data.summary;
    const [createdMs, updatedMs] = [Date.parse(createdAt), Date.parse(updatedAt)];
    const sent = this.#sent;
    const isKnown = sent?.title === title && sent.createdMs === createdMs;
    const isRecent = sent?.updatedMs === updatedMs || Date.now() < (sent?.sentMs ?? 0) + REFRESH_MS;
    return isKnown && isRecent ? undefined : { id, title, createdMs, updatedMs };
  }

  #call(call: (directory: RemoteDirectory) => Promise<void>): void {
    this.#calls = this.#calls
      .then(() => callDirectory(this.#conversation, call))
      .catch((error: unknown) => {
        this.#sent = undefined;
        console.error(error);
      });
    this.#conversation.state.waitUntil(this.#calls);
  }
}

const REFRESH_MS = 60_000;
const UPDATE_DELAY_MS = 50;
