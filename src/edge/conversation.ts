import { DurableObject } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { interpolate, type Interpolation } from "../reference/resolve.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { hasSchema } from "../store/rows/migrations.ts";
import type { Changes, ListOptions, Page, PageOptions } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { lookupFor, ScopedStore } from "../tool/scoped-store.ts";
import type { EventPage } from "../turn/log/event-log.ts";
import { type MessageForm, toUIMessage } from "../turn/history/history.ts";
import { waitingCalls } from "../turn/waiting-calls.ts";
import { ConversationContext, type ConversationSetup } from "./conversation-context.ts";
import type { ConversationInfo } from "./conversation-data.ts";
import { type Conditions, requireConditions } from "./http/conditions.ts";
import { afterIn } from "./http/event-streams.ts";
import { problem } from "./http/problem.ts";
import { Maintenance } from "./maintenance.ts";
import type { Plans, PlanSupport } from "./plans/plans.ts";
import { Sockets } from "./sockets/sockets.ts";
import type { Transfers, TransferRequests } from "./transfer/transfer-requests.ts";
import { watchTurn } from "./turns/turn-response.ts";
import { Turns } from "./turns/turns.ts";
import { etagOf, guardsIn, metadataEtagOf } from "./variables/etags.ts";
import { missingVariable } from "./variables/variable-errors.ts";
import { VariableRequests } from "./variables/variable-requests.ts";

/** What an application gives a conversation to work with, plans and transfers included. */
export interface ConversationOptions extends ConversationSetup {
  readonly plans?: PlanSupport | undefined;
  readonly transfer?: Transfers | undefined;
}

type Status = "idle" | "running" | "waiting";

/**
 * One conversation: its messages, its variables, its turns, its one alarm. Its name is made of tenant
 * and id (`conversation-of.ts`), so that nothing in here can reach another one's data.
 */
export class ConversationObject extends DurableObject {
  readonly #context: ConversationContext;
  readonly #plans: Plans | undefined;
  readonly #turns: Turns;
  readonly #sockets: Sockets;
  readonly #variables: VariableRequests;
  readonly #transfer: TransferRequests | undefined;
  readonly #maintenance: Maintenance;

  constructor(state: DurableObjectState, env: Cloudflare.Env, options: ConversationOptions) {
    super(state, env);
    const context = new ConversationContext(state, env, options);
    this.#context = context;
    this.#plans = options.plans?.open(context);
    this.#turns = new Turns(context, this.#plans);
    this.#sockets = new Sockets(context, this.#turns);
    this.#variables = new VariableRequests(context);
    this.#transfer = options.transfer?.requests(context);
    this.#maintenance = new Maintenance(context, this.#turns);
    if (hasSchema(context.sql)) void state.blockConcurrencyWhile(() => this.#onWake());
  }

  /** The conversation exists already: a request has arrived, or its alarm has gone off. */
  async #onWake(): Promise<void> {
    const context = this.#context;
    await context.alarmClock.read();
    if (context.deletion.readMark()) return;
    // No alarm is set, or its handler runs and none is visible: run the handler, which sets the next one.
    context.wake(Date.now());
    this.#turns.onWake();
  }

  /**
   * Requests whose bodies or responses stream: a turn (`POST /turn`), values (`/variables/:name`), live events
   * (`/events`), sockets (`/socket/:id`). The Worker has checked names and made the addresses.
   */
  override async fetch(request: Request): Promise<Response> {
    const context = this.#context;
    try {
      await context.deletion.whenDone();
      const [, what, name = ""] = new URL(request.url).pathname.split("/");
      // The Worker made this body from what it had validated.
      if (what === "turn") return await this.#turns.take(await request.json(), request.headers);
      if (what === "events") return this.#streamEvents(afterIn(request));
      if (what === "socket") return this.#sockets.open(name);
      if (what === "stream") return watchTurn(context, afterIn(request));
      if (this.#transfer !== undefined && what === "transfer")
        return await this.#transfer.fetch(request);
      if (what === "plans" && this.#plans !== undefined) {
        if (request.method === "POST") this.#turns.recover();
        return await this.#plans.fetch(request);
      }
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
    return this.#maintenance.onAlarm();
  }

  about(): ConversationInfo & { readonly status: Status } {
    const { info } = this.#context.requireExisting();
    return { ...info, status: this.status() ?? "idle" };
  }

  /** Undefined for a conversation that never was. */
  status(): Status | undefined {
    if (this.#context.data === undefined) return undefined;
    if (this.#context.queue.isRunning) return "running";
    const isWaiting = waitingCalls(this.#context.data.history.newest()).size > 0;
    return isWaiting || this.#plans?.isWaiting === true ? "waiting" : "idle";
  }

  setTitle(title: string): ReturnType<ConversationObject["about"]> {
    this.#context.requireExisting().setTitle(title);
    this.#context.index.update();
    return this.about();
  }

  /** Stops the turn that runs: no further model call or tool. False if none runs. */
  stop(): boolean {
    this.#context.requireExisting();
    return this.#context.queue.stop();
  }

  /** All of it, everywhere: rows, large values, log and alarm. What runs is stopped first. */
  async deleteAll(): Promise<void> {
    this.#context.requireExisting();
    await this.#context.deletion.start();
  }

  readMessages(options: { limit: number; before?: string; form: MessageForm }): {
    messages: UIMessage[];
    next?: string;
  } {
    const { messages, ...more } = this.#context.data?.history.page(options) ?? { messages: [] };
    return { messages: messages.map((message) => toUIMessage(message, options.form)), ...more };
  }

  listEvents(options: { after: number; limit: number }): EventPage {
    return this.#context.data?.events.list(options) ?? { events: [] };
  }

  listVariables(options: ListOptions): readonly VariableInfo[] {
    return this.#context.store.list(options);
  }

  pageVariables(options: PageOptions): Page {
    return this.#context.store.page(options);
  }

  variableInfo(name: string): VariableInfo {
    return this.#variables.info(name);
  }

  interpolate(text: string, syntax: SyntaxName): Promise<Interpolation> {
    return interpolate(text, lookupFor(undefined, this.#context.store, { failures: "show" }), {
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
    const info = new ScopedStore(this.#context.store).update(name, changes);
    if (info === undefined) throw missingVariable(name, this.#context.store);
    await this.#context.settle();
    return info;
  }

  /** False if there was none. */
  async deleteVariable(name: string, conditions: Conditions): Promise<boolean> {
    this.#require(name, conditions, etagOf);
    const existed = new ScopedStore(this.#context.store).delete(name);
    await this.#context.settle();
    return existed;
  }

  async resetVariables(keepLast: number): Promise<readonly string[]> {
    const names = this.#context.store.reset(keepLast);
    await this.#context.settle();
    return names;
  }

  #streamEvents(after = 0): Response {
    const head = this.#context.data?.journal.head();
    const turn = head?.isOpen === true && head.kind !== "run" ? head.id : undefined;
    return this.#context.eventStreams.open((options) => this.listEvents(options), { after, turn });
  }

  #require(name: string, conditions: Conditions, etagOf: (info: VariableInfo) => string): void {
    const info = this.#context.store.info(name);
    requireConditions(guardsIn(conditions), info === undefined ? undefined : etagOf(info));
  }
}
