import { DurableObject } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { interpolate, type Interpolation } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import { SqlStore } from "../store/sql-store.ts";
import { hasSchema } from "../store/rows/migrations.ts";
import type {
  Changes,
  ListOptions,
  Page,
  PageOptions,
  VariableStore,
} from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import type { MakeCodeTool } from "../tool/code/code-tool.ts";
import { lookupFor, ScopedStore } from "../tool/scoped-store.ts";
import type { EventPage } from "../turn/log/event-log.ts";
import { type MessageForm, toUIMessage } from "../turn/history/history.ts";
import type { CapabilityTags } from "../turn/model/capability-tags.ts";
import type { SpendLimits } from "../turn/spend/spend.ts";
import { waitingCalls } from "../turn/waiting-calls.ts";
import { AlarmClock } from "./platform/alarm-clock.ts";
import type { AgentSetup } from "./turns/chosen-agent.ts";
import { type Conditions, requireConditions } from "./http/conditions.ts";
import { ConversationData, type ConversationInfo, type Retention } from "./conversation-data.ts";
import { Deletion } from "./deletion.ts";
import { spendingOf } from "./directory/directory-leases.ts";
import { DurableSql } from "./platform/durable-sql.ts";
import { afterIn, EventStreams } from "./http/event-streams.ts";
import { problem } from "./http/problem.ts";
import { bucketOf, facilitiesOf } from "./facilities.ts";
import { etagOf, guardsIn, metadataEtagOf } from "./variables/etags.ts";
import { settingsOf } from "./settings.ts";
import { Sockets } from "./sockets/sockets.ts";
import { throttled } from "./throttled.ts";
import { TurnQueue } from "./turns/turn-queue.ts";
import { Listing } from "./directory/listing.ts";
import type { Plans, PlanSupport } from "./plans/plans.ts";
import type { Transfers, TransferRequests } from "./transfer/transfer-requests.ts";
import { Telemetry } from "./telemetry/telemetry.ts";
import { Turns } from "./turns/turns.ts";
import { Upkeep } from "./upkeep.ts";
import { missingVariable } from "./variables/variable-errors.ts";
import { VariableRequests } from "./variables/variable-requests.ts";

/** What an application gives a conversation to work with. */
export interface ConversationSetup extends AgentSetup {
  readonly retention: Retention;
  readonly spendLimits: SpendLimits;
  /** Without it there is no `run_code`. */
  readonly code?: MakeCodeTool | undefined;
  /** Without it there are no plans. */
  readonly plans?: PlanSupport | undefined;
  readonly tags?: CapabilityTags | undefined;
  readonly transfer?: Transfers | undefined;
}

type Status = "idle" | "running" | "waiting";

/**
 * One conversation: its messages, its variables, its turns, its one alarm. Its name is made of tenant
 * and id (`conversation-of.ts`), so that nothing in here can reach another one's data.
 */
export class ConversationObject extends DurableObject {
  readonly #setup: ConversationSetup;
  readonly #sql: DurableSql;
  readonly #bucket: Bucket | undefined;
  readonly #alarmClock: AlarmClock;
  readonly #queue: TurnQueue;
  readonly #listing: Listing;
  readonly #upkeep: Upkeep;
  readonly #turns: Turns;
  readonly #plans: Plans | undefined;
  readonly #sockets: Sockets;
  readonly #variables: VariableRequests;
  readonly #transfer: TransferRequests | undefined;
  readonly #eventStreams = new EventStreams();
  readonly #deletion: Deletion;
  /** Undefined until something is written: reading makes no conversation. */
  #data: ConversationData | undefined;
  /** Access times are written in batches: some seconds of them together. */
  readonly #flushAccessSoon = throttled(limits.accessFlushMs, () =>
    this.#data?.store.flushAccess(),
  );

  constructor(state: DurableObjectState, env: Cloudflare.Env, setup: ConversationSetup) {
    super(state, env);
    this.#setup = setup;
    this.#sql = new DurableSql(state.storage);
    this.#alarmClock = new AlarmClock(state.storage, this.#sql);
    const prefix = `${state.id}/`;
    this.#bucket = bucketOf(env, prefix);
    const own = {
      state,
      env,
      storage: state.storage,
      sql: this.#sql,
      alarmClock: this.#alarmClock,
      data: () => this.#data,
    };
    this.#deletion = new Deletion({ ...own, bucket: this.#bucket, onMarked: () => this.#forget() });
    this.#listing = new Listing(own);
    const shared = {
      ...own,
      agentSetup: setup,
      settings: () => settingsOf(env),
      facilities: facilitiesOf(env, prefix, setup),
      deletion: this.#deletion,
      store: () => this.#store,
      wake: (dueMs?: number) => this.#wake(dueMs),
      settle: () => this.#upkeep.settle(),
    };
    const spending = spendingOf({ ...setup, state, env });
    this.#queue = new TurnQueue({
      ...shared,
      ...spending,
      telemetry: new Telemetry(own),
      facilities: () => ({ ...shared.facilities, ...this.#plans?.facilities }),
      settle: (end) => this.#upkeep.settle(end),
      onBegin: (turn) => {
        this.#listing.tellSoon();
        if (turn !== undefined) this.#eventStreams.begin(turn);
      },
    });
    const queued = { ...shared, queue: this.#queue };
    this.#upkeep = new Upkeep({
      ...queued,
      turns: () => this.#turns,
      onSettled: () => this.#listing.tell(),
    });
    this.#variables = new VariableRequests(shared);
    this.#plans = setup.plans?.open({ ...queued, recover: () => this.#turns.recover() });
    this.#turns = new Turns({ ...queued, plans: this.#plans, leases: spending.leases });
    this.#sockets = new Sockets({ ...queued, turns: this.#turns });
    this.#transfer = setup.transfer?.requests({
      ...shared,
      prefix,
      fresh: () => this.#newData(),
      putVariable: (name, request) => this.#variables.put(name, request),
    });
    if (hasSchema(this.#sql)) void state.blockConcurrencyWhile(() => this.#goOn());
  }

  /** What was there before: somebody asks for it, or its alarm has gone off. */
  async #goOn(): Promise<void> {
    await this.#alarmClock.read();
    if (this.#deletion.readMark()) return;
    // No alarm is set, or its handler runs and none is visible: run the handler, which sets the next one.
    this.#wake(Date.now());
    this.#turns.goOn();
  }

  /**
   * What streams comes here: a turn (`POST /turn`), values in and out (`/variables/:name`), live events
   * (`/events`), sockets (`/socket/:id`). The Worker has checked names and made the addresses.
   */
  override async fetch(request: Request): Promise<Response> {
    try {
      await this.#deletion.whenDone();
      const [, what, name = ""] = new URL(request.url).pathname.split("/");
      if (what === "turn") return await this.#turns.take(request);
      if (what === "events") return this.#streamEvents(afterIn(request));
      if (what === "socket") return this.#sockets.open(name);
      if (what === "stream") return this.#queue.watch(afterIn(request));
      if (this.#transfer !== undefined && what === "transfer")
        return await this.#transfer.fetch(request);
      if (what === "plans" && this.#plans !== undefined) return await this.#plans.fetch(request);
      return await this.#variables.fetch(name, request);
    } catch (error) {
      return problem(error);
    }
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.#sockets.receive(socket, message);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#sockets.close(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#sockets.close(socket);
  }

  override alarm(): Promise<void> {
    return this.#upkeep.ring();
  }

  about(): ConversationInfo & { readonly status: Status } {
    const { info } = this.#existing();
    return { ...info, status: this.status() ?? "idle" };
  }

  /** Undefined for a conversation that never was. */
  status(): Status | undefined {
    if (this.#data === undefined) return undefined;
    if (this.#queue.isRunning) return "running";
    const isWaiting = waitingCalls(this.#data.history.newest()).size > 0;
    return isWaiting || this.#plans?.isWaiting === true ? "waiting" : "idle";
  }

  setTitle(title: string): ReturnType<ConversationObject["about"]> {
    this.#existing().setTitle(title);
    this.#listing.tell();
    return this.about();
  }

  /** Stops the turn that runs: no further model call or tool. False if none runs. */
  stop(): boolean {
    this.#existing();
    return this.#queue.stop();
  }

  /** All of it, everywhere: rows, large values, log and alarm. What runs is stopped first. */
  async deleteAll(): Promise<void> {
    this.#existing();
    await this.#deletion.start();
  }

  readMessages(options: { limit: number; before?: string; form: MessageForm }): {
    messages: UIMessage[];
    next?: string;
  } {
    const { messages, ...more } = this.#data?.history.page(options) ?? { messages: [] };
    return { messages: messages.map((message) => toUIMessage(message, options.form)), ...more };
  }

  listEvents(options: { after: number; limit: number }): EventPage {
    return this.#data?.events.list(options) ?? { events: [] };
  }

  listVariables(options: ListOptions): readonly VariableInfo[] {
    return this.#store.list(options);
  }

  pageVariables(options: PageOptions): Page {
    return this.#store.page(options);
  }

  variableInfo(name: string): VariableInfo {
    return this.#variables.info(name);
  }

  interpolate(text: string, syntax: SyntaxName): Promise<Interpolation> {
    return interpolate(text, lookupFor(undefined, this.#store, { failures: "show" }), {
      syntaxes: [syntax],
    });
  }

  async changeVariable(
    name: string,
    changes: Changes,
    conditions: Conditions,
  ): Promise<VariableInfo> {
    this.#require(name, conditions, metadataEtagOf);
    // What runs have is theirs to change.
    const info = new ScopedStore(this.#store).update(name, changes);
    if (info === undefined) throw missingVariable(name, this.#store);
    await this.#upkeep.settle();
    return info;
  }

  /** False if there was none. */
  async deleteVariable(name: string, conditions: Conditions): Promise<boolean> {
    this.#require(name, conditions, etagOf);
    const existed = new ScopedStore(this.#store).delete(name);
    await this.#upkeep.settle();
    return existed;
  }

  async resetVariables(keepLast: number): Promise<readonly string[]> {
    const names = this.#store.reset(keepLast);
    await this.#upkeep.settle();
    return names;
  }

  /** Empty, and of no cost, until something is written. */
  get #store(): VariableStore {
    return this.#data?.store ?? NOTHING;
  }

  /** What is written from now on is kept. */
  #wake(dueMs?: number): ConversationData {
    if (this.#data !== undefined) return this.#data;
    this.#deletion.requireArrived();
    this.#data = this.#newData();
    // In one commit with the tables: whatever comes of this conversation, it ends some day. By then what
    // is saved in its first moments is due too, so that saving it sets no second alarm.
    const firstMs = dueMs ?? Date.now() + this.#data.shortestIdleMs;
    if (!this.#alarmClock.isSet) void this.#alarmClock.setBy(firstMs);
    return this.#data;
  }

  #newData(): ConversationData {
    const { retention, plans } = this.#setup;
    return new ConversationData({
      sql: this.#sql,
      bucket: this.#bucket,
      retention: this.#transfer?.retention(retention) ?? retention,
      endRuns: plans?.endRuns,
      onAccess: this.#flushAccessSoon,
      onEvents: (events) => this.#eventStreams.show(events),
    });
  }

  #forget(): void {
    this.#data = undefined;
    this.#listing.remove();
    this.#eventStreams.end();
    this.#sockets.end();
  }

  #existing(): ConversationData {
    if (this.#data !== undefined) return this.#data;
    throw new ByrefError("conversation_not_found", "There is no such conversation.");
  }

  #streamEvents(after = 0): Response {
    const head = this.#data?.journal.head();
    const turn = head?.isOpen === true && head.kind !== "run" ? head.id : undefined;
    return this.#eventStreams.open((options) => this.listEvents(options), { after, turn });
  }

  #require(name: string, conditions: Conditions, etagOf: (info: VariableInfo) => string): void {
    const info = this.#store.info(name);
    requireConditions(guardsIn(conditions), info === undefined ? undefined : etagOf(info));
  }
}

/** What a conversation in which nothing was written yet has. */
const NOTHING = new SqlStore({
  run: () => undefined,
  all: () => [],
  transaction: (work) => work(),
});
