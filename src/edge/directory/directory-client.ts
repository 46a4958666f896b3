import { logFailure, placeIn } from "../log-failure.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { pause } from "../../turn/model/model-failure.ts";
import type { QuotaService, SpendLimits } from "../../turn/spend/spend.ts";
import { withTimeLimit } from "../../value/deadline.ts";
import type { Bindings } from "../app-env.ts";
import { nameIn, type ObjectContext } from "../conversation-of.ts";
import { objectIn } from "../placement.ts";
import { settingsOf } from "../settings.ts";
import type { DirectoryEntry, DirectoryObject, SentEntry } from "./directory.ts";
import type { ConversationSummary } from "../conversation-data.ts";

/** A tenant's directory: the methods that are called over RPC. */
export type RemoteDirectory = {
  readonly [Method in "put" | "remove" | "forget" | "list" | "deleteAll" | "take" | "settle"]: (
    ...parameters: Parameters<DirectoryObject[Method]>
  ) => Promise<Awaited<ReturnType<DirectoryObject[Method]>>>;
} & Pick<DurableObjectStub, "fetch">;

const hasDirectory = ({ DIRECTORY }: Partial<Bindings>) => DIRECTORY !== undefined;

/** Throws `bad_configuration` if the tenant's spend is limited and no directory is bound. */
export function requireDirectory({ tenant }: SpendLimits, env: object): void {
  if (tenant === undefined || hasDirectory(env)) return;
  const message = "A tenant's spend is limited where DIRECTORY is bound; see wrangler.toml.";
  throw new ByrefError("bad_configuration", message);
}

/**
 * The tenant's directory, in the given jurisdiction or the configured one. Undefined without the binding:
 * conversations are then not listed, and everything else works.
 */
export function directoryOf(env: object, tenant: string, jurisdiction?: string) {
  const { DIRECTORY }: Partial<Bindings> = env;
  if (DIRECTORY === undefined) return undefined;
  // In its own namespace, so no conversation's name equals a directory's name.
  const name = JSON.stringify([tenant, "directory"]);
  const named = objectIn(DIRECTORY, name, { settings: settingsOf(env), jurisdiction });
  // The namespace is bound to DirectoryObject; see `conversation-of.ts`.
  return named as unknown as RemoteDirectory;
}

/**
 * Calls the directory of the conversation's tenant; returns undefined if there is none. Uses the conversation's
 * jurisdiction, even if the setting has changed since. Rejects after a time limit, because calls between objects
 * have no time limit.
 */
async function callDirectory<Answer>(
  { env, state: { id } }: ObjectContext,
  call: (directory: RemoteDirectory) => Promise<Answer>,
): Promise<Answer | undefined> {
  const { tenant } = nameIn(id.name);
  // A new stub for each call: a stub whose object failed stays broken.
  const directory = tenant === undefined ? undefined : directoryOf(env, tenant, id.jurisdiction);
  if (directory === undefined) return undefined;
  return withTimeLimit(limits.replyMs, () => call(directory));
}

/**
 * Leases on the tenant's spend limit, from the tenant's directory; undefined without a limit. While the
 * directory is unavailable, nothing can be spent: `unavailable`.
 */
export function leasesOf(
  object: ObjectContext,
  { tenant: limits }: SpendLimits,
): QuotaService | undefined {
  if (limits === undefined) return undefined;
  return {
    limits,
    async take(claim) {
      const grant = await retry(TAKE_DELAYS_MS, object, (directory) => directory.take(claim));
      if (grant !== undefined) return grant;
      const message = "The tenant's spend is not available now.";
      throw new ByrefError("unavailable", message);
    },
    settle(settled) {
      object.state.waitUntil(
        retry(SETTLE_DELAYS_MS, object, (directory) => directory.settle(settled)),
      );
    },
  };
}

/** Calls the directory. Returns undefined if each try has failed. Both calls are idempotent. */
async function retry<Answer>(
  delaysMs: readonly number[],
  object: ObjectContext,
  call: (directory: RemoteDirectory) => Promise<Answer>,
): Promise<Answer | undefined> {
  for (const delayMs of delaysMs) {
    await pause(delayMs);
    try {
      return await callDirectory(object, call);
    } catch (error) {
      logFailure(error, placeIn(object, "spend"));
    }
  }
  return undefined;
}

/** The pause before each try. */
const TAKE_DELAYS_MS = [0, 200, 1_000];
const SETTLE_DELAYS_MS = [0, 1_000, 10_000, 60_000];

interface IndexedConversation extends ObjectContext {
  /** Undefined until something is written. */
  readonly data: { readonly summary: ConversationSummary; readonly bornMs: number } | undefined;
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
    this.#id = hasDirectory(env) ? nameIn(state.id.name).indexedId : undefined;
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
      logFailure(error, placeIn(this.#conversation, "directory"));
    }
  }

  /** Call this when the conversation is deleted. */
  remove(): void {
    this.#sent = undefined;
    const id = this.#id;
    if (id !== undefined) this.#call((directory) => directory.remove(id));
  }

  #changedEntry(): SentEntry | undefined {
    const { data } = this.#conversation;
    const id = this.#id;
    if (id === undefined || data === undefined) return undefined;
    const { title, createdAt, updatedAt } = data.summary;
    const [createdMs, updatedMs] = [Date.parse(createdAt), Date.parse(updatedAt)];
    const sent = this.#sent;
    const isKnown = sent?.title === title && sent.createdMs === createdMs;
    const isRecent = isKnown && Math.abs(Date.now() - sent.sentMs) < REFRESH_MS;
    if (isKnown && (isRecent || sent.updatedMs === updatedMs)) return undefined;
    return { id, title, createdMs, updatedMs, bornMs: data.bornMs };
  }

  #call(call: (directory: RemoteDirectory) => Promise<void>): void {
    this.#calls = this.#calls
      .then(() => callDirectory(this.#conversation, call))
      .catch((error: unknown) => {
        this.#sent = undefined;
        logFailure(error, placeIn(this.#conversation, "directory"));
      });
    this.#conversation.state.waitUntil(this.#calls);
  }
}

const REFRESH_MS = 60_000;
const UPDATE_DELAY_MS = 50;

/**
 * Returns a function that calls `work` once, `delayMs` after its first call. Calls until then have no effect.
 */
export function throttled(delayMs: number, work: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      work();
    }, delayMs);
  };
}
