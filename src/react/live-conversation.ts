import type { ClientConversation } from "../client/conversation.ts";
import type { PlanView } from "../edge/plans/plan-view.ts";
import type { VariableInfo } from "../store/variable.ts";
import type { ConversationEvent } from "../turn/log/event-log.ts";
import { coalesced, Shared } from "./shared.ts";
import { isRead, listen } from "./turn-news.ts";
import { VariablePart } from "./variable-part.ts";

/** Events of a conversation, as far as the page has them. */
export interface Events {
  /** The newest 2,000, oldest first. */
  readonly events: readonly ConversationEvent[];
  /** True if there are older ones. */
  readonly isCut: boolean;
  /** False until the first event, and while the stream is broken. */
  readonly isLive: boolean;
  /** The last turn that began since the page listens, or that ran then. A new object for each. */
  readonly turn?: { readonly id: string };
}

/** A plan, without its runs. */
export type ListedPlan = Omit<PlanView, "runs">;

/** Plans of a conversation, oldest first; undefined until they are loaded. */
export interface PlanList {
  readonly plans: readonly ListedPlan[] | undefined;
  readonly error: unknown;
}

/** Of a long conversation. */
const MAX_EVENTS = 2_000;
const MAX_VARIABLES = 500;
const TOLD_EVERY_MS = 100;
const AGAIN_AFTER_MS = 5_000;
/** A page that changes its view does not connect again. */
const CLOSES_AFTER_MS = 1_000;

/**
 * What the components of a page share of a conversation. Listens to its events while a component uses it and
 * the page is visible: over HTTP/1.1 a browser has six connections for all of its tabs.
 */
export class LiveConversation {
  readonly variables = new Shared<readonly VariableInfo[]>([], () => this.#used());
  readonly plans = new Shared<PlanList>({ plans: undefined, error: undefined }, () => this.#used());
  readonly events = new Shared<Events>({ events: [], isCut: false, isLive: false }, () =>
    this.#used(),
  );
  readonly #conversation: ClientConversation;
  readonly #parts = new Map<string, VariablePart>();
  #listening: AbortController | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(conversation: ClientConversation) {
    this.#conversation = conversation;
    page?.addEventListener("visibilitychange", () => this.#used());
  }

  part(name: string, path: string): VariablePart {
    const key = `${name} ${path}`;
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const part = new VariablePart(this.#conversation, { name, path, onUse: () => this.#used() });
    this.#parts.set(key, part);
    return part;
  }

  readonly loadPlans = coalesced(async () => {
    try {
      const { plans } = await this.#conversation.plans.list();
      this.plans.set({ plans, error: undefined });
    } catch (error) {
      this.plans.set({ ...this.plans.read(), error });
    }
  });

  readonly #loadVariables = coalesced(async () => {
    try {
      const { variables } = await this.#conversation.variables.list({ last: MAX_VARIABLES });
      this.variables.set(variables);
    } catch {
      // The last list stays; the next event, or connection, loads it again.
    }
  });

  /** Opens or closes the stream of events. */
  #used(): void {
    const shared = [this.variables, this.plans, this.events, ...this.#parts.values()];
    const isUsed = shared.some((one) => one.isUsed) && page?.visibilityState !== "hidden";
    clearTimeout(this.#closing);
    if (isUsed && this.#listening === undefined) this.#listen();
    else if (isUsed) this.#loadNew();
    else if (this.#listening !== undefined) {
      this.#closing = setTimeout(() => this.#close(), CLOSES_AFTER_MS);
    }
  }

  #close(): void {
    this.#listening?.abort();
    this.#listening = undefined;
    this.#isLoaded.clear();
    for (const [key, part] of this.#parts) if (!part.isUsed) this.#parts.delete(key);
  }

  /** Lists that are up to date while the page listens. */
  readonly #isLoaded = new Set<unknown>();

  /** Loads what is used for the first time since the page listens. */
  #loadNew(): void {
    if (this.variables.isUsed) this.#loadOnce(this.variables, this.#loadVariables);
    if (this.plans.isUsed) this.#loadOnce(this.plans, this.loadPlans);
    for (const part of this.#parts.values()) if (part.isUsed) this.#loadOnce(part, part.load);
  }

  #loadOnce(what: unknown, load: Load): void {
    if (this.#isLoaded.has(what)) return;
    this.#isLoaded.add(what);
    load();
  }

  #listen(): void {
    const listening = new AbortController();
    this.#listening = listening;
    const { signal } = listening;
    // What has happened in the meantime is not known.
    this.#isLoaded.clear();
    this.#loadNew();
    const unlisten = listen(this.#conversation.id, (name) => this.#written(name, () => true));
    signal.addEventListener("abort", unlisten);
    const keepListening = () => {
      if (signal.aborted) return;
      this.#readEvents(signal).catch(() => {
        if (signal.aborted) return;
        this.events.set({ ...this.events.read(), isLive: false });
        setTimeout(keepListening, AGAIN_AFTER_MS);
      });
    };
    keepListening();
  }

  async #readEvents(signal: AbortSignal): Promise<void> {
    const waiting: ConversationEvent[] = [];
    const show = () => {
      const { events: known, turn } = this.events.read();
      const events = [...known, ...waiting.splice(0)].slice(-MAX_EVENTS);
      const isCut = (events[0]?.id ?? 1) > 1;
      this.events.set({ events, isCut, isLive: true, ...(turn === undefined ? {} : { turn }) });
    };
    const onTurn = (id: string) => {
      this.events.set({ ...this.events.read(), turn: { id } });
      void this.#readTurn(signal).catch(() => undefined);
    };
    const after = this.events.read().events.at(-1)?.id;
    const options = { onTurn, signal, ...(after === undefined ? {} : { after }) };
    for await (const event of this.#conversation.events(options)) {
      if (waiting.push(event) === 1) setTimeout(show, TOLD_EVERY_MS);
      this.#happened(event);
    }
  }

  #happened({ type, at, variable }: ConversationEvent): void {
    if (variable !== undefined) {
      const { name, version } = variable;
      // An event is a little later than its change.
      const isSaved = type === "variable.saved";
      this.#written(name, (info) => info.updatedAt < at && !(isSaved && info.version >= version));
    }
    if (/^(?:plan|run)\./.test(type)) this.#changed(this.plans, this.loadPlans);
  }

  /** A turn's events come when it ends; its stream says at once what it writes. */
  async #readTurn(signal: AbortSignal): Promise<void> {
    const { id } = this.#conversation;
    if (await isRead(id)) return;
    for await (const chunk of this.#conversation.resume({ signal })) {
      if (chunk.type === "data-variable") this.#written(chunk.data.name, () => true);
      if (await isRead(id)) return;
    }
  }

  /** Loads what shows the variable, if that is old or not there. */
  #written(name: string, isOld: (info: VariableInfo) => boolean): void {
    const isNeeded = (info: VariableInfo | undefined) => info === undefined || isOld(info);
    const listed = () => this.variables.read().find((info) => info.name === name);
    this.#changed(this.variables, this.#loadVariables, () => isNeeded(listed()));
    for (const part of this.#parts.values()) {
      if (part.name === name) this.#changed(part, part.load, () => isNeeded(part.read().info));
    }
  }

  /** Loads it again, or when it is used again. */
  #changed(what: { readonly isUsed: boolean }, load: Load, isNeeded = () => true): void {
    if (what.isUsed) load(isNeeded);
    else if (isNeeded()) this.#isLoaded.delete(what);
  }
}

type Load = ReturnType<typeof coalesced>;

/** The browser's document, if there is one. */
const { document: page } = globalThis as {
  readonly document?: {
    readonly visibilityState: string;
    addEventListener(type: "visibilitychange", listener: () => void): void;
  };
};

const known = new WeakMap<object, Map<string, LiveConversation>>();

/** The same for every object of the same client with the same id. */
export function liveOf(conversation: ClientConversation): LiveConversation {
  const { client, id } = conversation;
  const all = known.get(client) ?? new Map<string, LiveConversation>();
  known.set(client, all);
  const live = all.get(id) ?? new LiveConversation(conversation);
  all.set(id, live);
  return live;
}
