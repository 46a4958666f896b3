import type { ClientConversation } from "../client/conversation.ts";
import { isPassing, pauseMs } from "../client/follow.ts";
import type { PlanView } from "../../../plans/src/http/plan-view.ts";
import type { VariablePage } from "../client/variables.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { eventLogs } from "../../../../src/internal-tool.ts";
import { Loaded, Shared } from "./shared.ts";
import { listen } from "./turn-news.ts";
import { variablePart, type VariableState } from "./variable-part.ts";

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
  // After an error, the next event or connection loads them again.
  readonly variables = new Loaded(
    NO_VARIABLES,
    () => this.#used(),
    (before) => this.#newest(this.#last).catch((error: unknown) => ({ ...before, error })),
  );
  readonly plans = new Loaded<PlanList>(
    NO_PLANS,
    () => this.#used(),
    (before) =>
      this.#conversation.plans.list().then(
        ({ plans }) => ({ plans, error: undefined }),
        (error: unknown) => ({ ...before, error }),
      ),
  );
  readonly events = new Shared(NO_EVENTS, () => this.#used());
  readonly #conversation: ClientConversation;
  /** By the name, and the path behind it. */
  readonly #parts = new Map<string, Loaded<VariableState>>();
  #last = LAST_VARIABLES;
  #listening: AbortController | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;
  /** Aborted when nothing uses it: the page would keep it as long as it listens to the page. */
  #watching: AbortController | undefined;

  constructor(conversation: ClientConversation) {
    this.#conversation = conversation;
  }

  get isUsed(): boolean {
    return [this.events, ...this.#loaded].some((one) => one.isUsed);
  }

  /** The part at the path; without a path, only the metadata. */
  part(name: string, path: string | undefined): Loaded<VariableState> {
    const key = `${name} ${path ?? "?"}`;
    const known = this.#parts.get(key);
    if (known !== undefined) return known;
    const onUse = (isUsed: boolean) => {
      if (isUsed) this.#parts.set(key, part);
      // A value may be large.
      else setTimeout(() => part.isUsed || this.#parts.delete(key), CLOSES_AFTER_MS);
      this.#used();
    };
    const part = variablePart(this.#conversation, name, path, onUse);
    this.#parts.set(key, part);
    return part;
  }

  /** Loads at least this many of the newest variables from now on. */
  needVariables(last: number): void {
    if (last <= this.#last) return;
    this.#last = last;
    this.variables.renew();
  }

  async #newest(last: number): Promise<VariableList> {
    const { variables } = this.#conversation;
    const all: VariableInfo[] = [];
    if (last <= MAX_LAST) all.push(...(await variables.list({ last })).variables);
    else {
      for (let after: number | undefined = 0; after !== undefined;) {
        const listed: VariablePage = await variables.list({ after });
        all.push(...listed.variables);
        after = listed.next;
      }
    }
    const newest = all.slice(-last);
    return { variables: newest, hasMore: newest.length === last, error: undefined };
  }

  get #loaded() {
    return [this.variables, this.plans, ...this.#parts.values()];
  }

  /** Opens or closes the stream of events. */
  #used(): void {
    clearTimeout(this.#closing);
    if (!this.isUsed) this.#watching?.abort();
    else if (this.#watching?.signal.aborted !== false) this.#watch();
    if (!this.isUsed || page.document?.visibilityState === "hidden") {
      this.#closing = setTimeout(() => this.#close(), CLOSES_AFTER_MS);
    } else if (this.#listening === undefined) this.#listen();
    else for (const one of this.#loaded) one.refresh();
  }

  #watch(): void {
    const { signal } = (this.#watching = new AbortController());
    page.document?.addEventListener("visibilitychange", () => this.#used(), { signal });
    const online = () => {
      // The old connection may be silent for a while before it counts as broken.
      this.#close();
      this.#used();
    };
    page.addEventListener?.("online", online, { signal });
  }

  #close(): void {
    this.#listening?.abort();
    this.#listening = undefined;
  }

  #listen(): void {
    const { signal } = (this.#listening = new AbortController());
    const unlisten = listen((id, name) => id === this.#conversation.id && this.#written([name]));
    signal.addEventListener("abort", unlisten);
    // Changes in the meantime are unknown, except for events.
    const renew = () => this.#loaded.forEach((one) => one.renew());
    renew();
    let failures = 0;
    const onOpen = () => {
      const known = this.events.read();
      if (known.events.length > 0) this.events.set({ ...known, isLive: true });
      if (failures > 0) renew();
      failures = 0;
    };
    const keepListening = () => {
      if (signal.aborted) return;
      this.#readEvents(signal, onOpen).catch((error: unknown) => {
        if (signal.aborted) return;
        this.events.set({ ...this.events.read(), isLive: false });
        setTimeout(keepListening, isPassing(error) ? pauseMs(++failures) : AGAIN_AFTER_MS);
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
      const written = unknown.flatMap(({ variable }) => variable?.name ?? []);
      if (written.length > 0) this.#written(written);
      if (unknown.some(({ type }) => /^(?:plan|run)\./.test(type))) this.plans.renew();
    };
    const onTurn = (id: string) => this.events.set({ ...this.events.read(), turn: { id } });
    const after = this.events.read().events.at(-1)?.id;
    // A lost connection is made again above, where it is shown.
    const retryMs = () => undefined;
    const options = { onTurn, onOpen, retryMs, signal, ...(after === undefined ? {} : { after }) };
    let last = after ?? 0;
    for await (const event of this.#conversation.events(options)) {
      // The conversation was deleted, or set back, and counts anew.
      if (event.id <= last) this.events.set(NO_EVENTS);
      last = event.id;
      if (waiting.push(event) === 1) setTimeout(show, TOLD_EVERY_MS);
    }
  }

  /** Loads what shows the variables. */
  #written(names: readonly string[]): void {
    this.variables.renew();
    for (const [key, part] of this.#parts) {
      if (names.some((name) => key.startsWith(`${name} `))) part.renew();
    }
  }
}

/** The browser's window, if there is one. */
const page = globalThis as {
  addEventListener?(type: "online", listener: () => void, options: object): void;
  readonly document?: {
    readonly visibilityState: string;
    addEventListener(type: "visibilitychange", listener: () => void, options: object): void;
  };
};

const known = new WeakMap<object, Map<string, LiveConversation>>();

/** Number of a client's conversations that are kept, so that a page shows at once what it showed before. */
const MAX_KEPT = 20;

/** Returns the same object for all objects of one client with the same id. */
export function liveOf(conversation: ClientConversation): LiveConversation {
  const { client, id } = conversation;
  const all = known.get(client) ?? new Map<string, LiveConversation>();
  const live = all.get(id) ?? new LiveConversation(conversation);
  // The newest is the last.
  all.delete(id);
  known.set(client, all.set(id, live));
  for (const [other, { isUsed }] of all) {
    if (all.size > MAX_KEPT && other !== id && !isUsed) all.delete(other);
  }
  return live;
}
