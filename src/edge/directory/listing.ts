import type { ConversationData } from "../conversation-data.ts";
import { conversationIn, type ObjectContext } from "../conversation-name.ts";
import type { DirectoryEntry } from "./directory.ts";
import { askDirectory, hasDirectory, type RemoteDirectory } from "./directory-of.ts";
import { throttled } from "../throttled.ts";

export interface ListingOptions extends ObjectContext {
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
}

/**
 * What a conversation tells its tenant's directory of itself. Nobody waits for it, and it writes nothing
 * here: what has been told is known in memory alone, so that whoever wakes tells again. What gets lost is
 * told with the next thing that happens.
 */
export class Listing {
  readonly #options: ListingOptions;
  /** Undefined if nobody is told. */
  readonly #id: string | undefined;
  #told: (DirectoryEntry & { readonly toldMs: number }) | undefined;
  /** One after the other: a removal must not be overtaken. */
  #sent: Promise<void> = Promise.resolve();

  constructor(options: ListingOptions) {
    this.#options = options;
    const { env, state } = options;
    this.#id = hasDirectory(env) ? conversationIn(state.id.name)?.id : undefined;
  }

  /** The same as `tell`, out of the way of a turn's first words. */
  readonly tellSoon = throttled(ASIDE_MS, () => this.tell());

  /** What is news: that it is there, another title, or, once a minute, that something happens. Does not throw. */
  tell(): void {
    try {
      const entry = this.#news();
      if (entry === undefined) return;
      this.#told = { ...entry, toldMs: Date.now() };
      this.#send((directory) => directory.tell(entry));
    } catch (error) {
      console.error(error);
    }
  }

  /** It is no more. */
  remove(): void {
    this.#told = undefined;
    const id = this.#id;
    if (id !== undefined) this.#send((directory) => directory.remove(id));
  }

  #news(): DirectoryEntry | undefined {
    const data = this.#options.data();
    const id = this.#id;
    if (id === undefined || data === undefined) return undefined;
    const { title, createdAt, updatedAt } = data.summary;
    const [createdMs, updatedMs] = [Date.parse(createdAt), Date.parse(updatedAt)];
    const told = this.#told;
    const isKnown = told?.title === title && told.createdMs === createdMs;
    const isRecent = told?.updatedMs === updatedMs || Date.now() < (told?.toldMs ?? 0) + REFRESH_MS;
    return isKnown && isRecent ? undefined : { id, title, createdMs, updatedMs };
  }

  #send(call: (directory: RemoteDirectory) => Promise<void>): void {
    this.#sent = this.#sent
      .then(() => askDirectory(this.#options, call))
      .catch((error: unknown) => {
        this.#told = undefined;
        console.error(error);
      });
    this.#options.state.waitUntil(this.#sent);
  }
}

const REFRESH_MS = 60_000;
const ASIDE_MS = 50;
