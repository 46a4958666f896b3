import { ClientError } from "../client/client-error.ts";
import type { ClientConversation } from "../client/conversation.ts";
import { pauseMs } from "../client/follow.ts";
import type { PlanView } from "../../../plans/src/http/plan-view.ts";
import type { VariablePage } from "../client/variables.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { eventLogs } from "../../../../src/internal-tool.ts";
import { coalesced, Shared } from "./shared.ts";
import { isRead, listen } from "./turn-news.ts";
import { VariablePart } from "./variable-part.ts";

/** Events of a conversation, as far as the page has them. */
export interface Events {
  /** The newest 2,000, oldest first. */
  readonly events: readonly eventLogs.ConversationEvent[];
  /** True if there are older ones. */
  readonly isCut: boolean;
  /** False until the first event, and while the connection is lost. */
  readonly isLive: boolean;
  /** The last turn that began since the page listens, or that ran then. A new object for each. */
  readonly turn?: { readonly id: string };
}

export type ListedPlan = Omit<PlanView, "runs">;

/** Plans of a conversation, oldest first; undefined until they are loaded. */
export interface PlanList {
  readonly plans: readonly ListedPlan[] | undefined;
  readonly error: unknown;
}

export interface VariableList {
  /** Oldest first; undefined until they are loaded. */
  readonly variables: readonly VariableInfo[] | undefined;
  /** True if there are older ones. */
  readonly hasMore: boolean;
  readonly error: unknown;
}

export const NO_EVENTS: Events = { events: [], isCut: false, isLive: false };
export const NO_PLANS: PlanList = { plans: undefined, error: undefined };
export const NO_VARIABLES: VariableList = {
  variables: undefined,
  hasMore: false,
  error: undefined,
};

const MAX_EVENTS = 2_000;
/** Number of variables loaded by default. */
export const LAST_VARIABLES = 500;
/** The server's maximum for `last`. */
const MAX_LAST = 1_000;
const TOLD_EVERY_MS = 100;
const AGAIN_AFTER_MS = 5_000;
/** A page that changes its view does not connect again. */
const CLOSES_AFTER_MS = 1_000;

/**
 * State of a conversation that the components of a page share. Listens to its events while a component uses it and
 * the page is visible, because over HTTP/1.1 a browser has six connections for all of its tabs.
 */
export class LiveConversation {
  readonly variables = new Shared(NO_VARIABLES, () => this.#used());
  readonly plans = new Shared(NO_PLANS, () => this.#used());
  readonly events = new Shared(NO_EVENTS, () => this.#used());
  readonly #conversation: ClientConversation;
  readonly #parts = new Map<string, VariablePart>();
  #last = LAST_VARIABLES;
  #listening: AbortController | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(conversation: ClientConversation) {
    this.#conversation = conversation;
    page.document?.addEventListener("visibilitychange", () => this.#used());
    page.addEventListener?.("online", () => {
      // The old connection may be silent for a while before it counts as broken.
      this.#close();
      this.#used();
    });
  }

  /** The part at the path; without a path, only the metadata. */
  part(name: string, path: string | undefined): VariablePart {
    const key = `${name} ${path ?? "?"}`;
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const onUse = (isUsed: boolean) => {
      if (isUsed) this.#parts.set(key, part);
      // A value may be large.
      else setTimeout(() => part.isUsed || this.#parts.delete(key), CLOSES_AFTER_MS);
      this.#used();
    };
    const part = new VariablePart(this.#conversation, name, path, onUse);
    this.#parts.set(key, part);
    return part;
  }

  /** Loads at least this many of the newest variables from now on. */
  needVariables(last: number): void {
    if (last <= this.#last) return;
    this.#last = last;
    this.#changed(this.variables, this.#loadVariables);
  }

  readonly loadPlans = loading(this.plans, async () => {
    const { plans } = await this.#conversation.plans.list();
    return { plans, error: undefined };
  });

  readonly #loadVariables = loading(this.variables, async () => {
    const last = this.#last;
    const variables = await this.#newest(last);
    return { variables, hasMore: variables.length === last, error: undefined };
  });

  async #newest(last: number): Promise<readonly VariableInfo[]> {
    const { variables } = this.#conversation;
    if (last <= MAX_LAST) return (await variables.list({ last })).variables;
    const all: VariableInfo[] = [];
    for (let after: number | undefined = 0; after !== undefined;) {
      const listed: VariablePage = await variables.list({ after });
      all.push(...listed.variables);
      after = listed.next;
    }
    return all.slice(-last);
  }

  /** Opens or closes the stream of events. */
  #used(): void {
    const shared = [this.variables, this.plans, this.events, ...this.#parts.values()];
    const isUsed = shared.some((one) => one.isUsed) && page.document?.visibilityState !== "hidden";
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
    // Changes in the meantime are unknown.
    this.#isLoaded.clear();
    this.#loadNew();
    const unlisten = listen(this.#conversation.id, (name) => this.#written(name, () => true));
    signal.addEventListener("abort", unlisten);
    let failures = 0;
    const onOpen = () => {
      const { events } = this;
      const known = events.read();
      if (known.events.length > 0) events.set({ ...known, isLive: true });
      // Changes in the meantime are unknown, except for events.
      if (failures > 0) this.#isLoaded.clear();
      failures = 0;
      this.#loadNew();
    };
    const keepListening = () => {
      if (signal.aborted) return;
      this.#readEvents(signal, onOpen).catch((error: unknown) => {
        if (signal.aborted) return;
        this.events.set({ ...this.events.read(), isLive: false });
        const isLost = error instanceof ClientError && /^un(?:reach|avail)able$/.test(error.code);
        setTimeout(keepListening, isLost ? pauseMs(++failures) : AGAIN_AFTER_MS);
      });
    };
    keepListening();
  }

  async #readEvents(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const waiting: eventLogs.ConversationEvent[] = [];
    const show = () => {
      const { events: known, turn } = this.events.read();
      // Another connection may have read them already.
      const last = known.at(-1)?.id ?? 0;
      const unknown = waiting.splice(0).filter(({ id }) => id > last);
      const events = [...known, ...unknown].slice(-MAX_EVENTS);
      const isCut = (events[0]?.id ?? 1) > 1;
      this.events.set({ events, isCut, isLive: true, ...(turn === undefined ? {} : { turn }) });
    };
    const onTurn = (id: string) => {
      this.events.set({ ...this.events.read(), turn: { id } });
      void this.#readTurn(signal).catch(() => undefined);
    };
    const after = this.events.read().events.at(-1)?.id;
    // A lost connection is made again above, where it is shown.
    const retryMs = () => undefined;
    const options = { onTurn, onOpen, retryMs, signal, ...(after === undefined ? {} : { after }) };
    for await (const event of this.#conversation.events(options)) {
      if (waiting.push(event) === 1) setTimeout(show, TOLD_EVERY_MS);
      this.#happened(event);
    }
  }

  #happened({ type, at, variable }: eventLogs.ConversationEvent): void {
    if (variable !== undefined) {
      const { name, version } = variable;
      // An event is a little later than its change.
      const isSaved = type === "variable.saved";
      this.#written(name, (info) => info.updatedAt < at && !(isSaved && info.version >= version));
    }
    if (/^(?:plan|run)\./.test(type)) this.#changed(this.plans, this.loadPlans);
  }

  /** Reads the turn's stream, because it reports writes at once, and events arrive only at the end of a turn. */
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
    const listed = () => this.variables.read().variables?.find((info) => info.name === name);
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

/** Loads a list. After an error, the next event or connection loads it again. */
function loading<List extends PlanList | VariableList>(
  shared: Shared<List>,
  load: () => Promise<List>,
): Load {
  return coalesced(async () => {
    shared.set(await load().catch((error: unknown) => ({ ...shared.read(), error })));
  });
}

/** The browser's window, if there is one. */
const page = globalThis as {
  addEventListener?(type: "online", listener: () => void): void;
  readonly document?: {
    readonly visibilityState: string;
    addEventListener(type: "visibilitychange", listener: () => void): void;
  };
};

const known = new WeakMap<object, Map<string, LiveConversation>>();

/** Returns the same object for all objects of one client with the same id. */
export function liveOf(conversation: ClientConversation): LiveConversation {
  const { client, id } = conversation;
  const all = known.get(client) ?? new Map<string, LiveConversation>();
  known.set(client, all);
  const live = all.get(id) ?? new LiveConversation(conversation);
  all.set(id, live);
  return live;
}
