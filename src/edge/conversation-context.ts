import type { AgentContext } from "./agent-types.ts";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Bucket } from "../store/bytes/bodies.ts";
import { SqlStore } from "../store/sql-store.ts";
import { USER } from "../store/user-variables.ts";
import type { VariableStore } from "../store/variables.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import type { WrapOptions } from "../tool/wrapped-tool.ts";
import type { Json } from "../value/json.ts";
import type { Identity } from "../tool/identity.ts";
import type { Agent } from "../turn/agent.ts";
import type { EventPage } from "../turn/log/event-log.ts";
import type { TurnHead } from "../turn/log/journal.ts";
import { type RecoveredLog, recoveryDelayMs } from "../turn/log/recovery.ts";
import { pause } from "../turn/model/model-failure.ts";
import type { QuotaService, Cost, SpendLimits } from "../turn/spend/spend.ts";
import type { MakeCodeTool, PlatformServices, QueryTools } from "../turn/toolbox.ts";
import type { Bindings } from "./app-env.ts";
import { ConversationData, type Retention } from "./conversation-data.ts";
import { IMPORT, nameIn } from "./conversation-of.ts";
import { Deletion } from "./deletion.ts";
import { ConversationIndex, leasesOf, throttled } from "./directory/directory-client.ts";
import { EventStreams } from "./http/event-streams.ts";
import type { RecordsFormat } from "../store/bytes/receive.ts";
import { logFailure, placeIn } from "./log-failure.ts";
import { AlarmClock } from "./platform/alarm-clock.ts";
import { DurableSql } from "./platform/durable-sql.ts";
import { R2Blobs } from "./platform/r2-blobs.ts";
import { filesIn } from "./platform/r2-files.ts";
import { requireNumbers, type Settings, settingsOf } from "./settings.ts";
import { Telemetry } from "./telemetry/telemetry.ts";
import { type AgentChoice, type AgentSetup, chooseAgent } from "./turns/chosen-agent.ts";
import { type QueuedTurn, type RunningTurn, TurnQueue } from "./turns/turn-queue.ts";
import type { TurnRequest } from "./turns/turn-request.ts";

export interface ConversationSetup extends AgentSetup {
  readonly retention: RetentionOption;
  readonly spendLimits: SpendLimits;
  /** Absent: CSV is stored as bytes. */
  readonly csv?: RecordsFormat | undefined;
  readonly code?: MakeCodeTool | undefined;
  readonly plans?: Feature<ConversationPlans> | undefined;
  readonly queries?: Feature<ConversationQueries> | undefined;
  readonly gateway?: Feature<ConversationMcp> | undefined;
}

export type RetentionOption =
  | Retention
  | ((about: Pick<AgentContext, "tenant" | "conversation" | "env">) => Retention);

/** A feature of an application, of which each conversation has a part. */
export interface Feature<Part> {
  readonly open: (context: ConversationContext) => Part;
}

export interface ConversationQueries {
  /** Undefined if there is no place for tables. */
  toolsFor(wrap: WrapOptions): QueryTools | undefined;
  /** Deletes the copies of values that are deleted, sealed or untrusted from then on. */
  watch(data: ConversationData): void;
  /** Resolves when they are deleted. */
  purged(): Promise<void>;
}

/** A conversation's plans. Their runs take places in the queue of turns, and are in its journal. */
export interface ConversationPlans {
  /** True while the queue executes a run. */
  readonly isRunning: boolean;
  /** True while a run waits for a person. */
  readonly isWaiting: boolean;
  /** The tools with which an agent proposes plans and runs programs. */
  toolsFor(agent: Agent, wrap: WrapOptions): Promise<readonly RuntimeTool[]>;
  /** Decides on what runs wait for. Undefined if no run waits for it: then a turn may. */
  decide(turn: TurnRequest, headers: Headers): Promise<Response | undefined>;
  /** Continues the run with this head, which a restart has interrupted. */
  recover(head: TurnHead): void;
  /** Ends runs that cannot continue after a restart, and holds the variables of those that can. */
  endRuns(data: ConversationData): void;
  /** The lines of an export: each plan, then its runs, loaded one at a time. */
  exported(data: ConversationData): Iterable<PlanLine>;
  /** Stores a line of a file. Throws `bad_import` for a run without its plan, and for what is there twice. */
  take(data: ConversationData, line: PlanLine): void;
  /**
   * Call this after the last line: a copy has no pending approvals, and what is not trusted none at all. Counts the
   * runs that are cancelled, and the plans that wait for approval again.
   */
  endImport(
    data: ConversationData,
    options: EndOfImport,
  ): Promise<{ readonly cancelled: number; readonly withdrawn: number }>;
}

export type PlanLine =
  | { readonly type: "plan"; readonly plan: object }
  | {
      readonly type: "run";
      readonly record: object;
      readonly input: Json;
      readonly state?: Json | undefined;
    };

export interface EndOfImport {
  /** False: plans that the file calls approved wait for approval again. */
  readonly isTrusted: boolean;
  /** Shown by the runs that are cancelled because they waited. */
  readonly reason: string;
}

export interface McpRequest {
  readonly request: Request;
  /** Its body, parsed. */
  readonly message: Json;
  readonly conversation: string;
  /** Also offers this agent's tools. */
  readonly agent: string | undefined;
  /** Lists all tools, or only what finds and calls them. */
  readonly tools: "list" | "search";
}

export interface ConversationMcp {
  handle(request: McpRequest): Promise<Response>;
}

/** Passed to a turn or plan run when the queue reaches it. */
export interface QueueSlot extends RunningTurn {
  readonly data: ConversationData;
  /** Rows and alarms of the turn so far. */
  readonly cost: () => Cost;
}

/**
 * One conversation's storage, queue and services. Every part of the conversation receives the context and
 * reaches shared services through it.
 */
export class ConversationContext {
  readonly state: DurableObjectState;
  readonly env: Cloudflare.Env;
  readonly setup: ConversationSetup;
  /** The prefix of the conversation's keys in the bucket. */
  readonly prefix: string;
  readonly sql: DurableSql;
  readonly alarmClock: AlarmClock;
  /** Undefined without a bucket binding: large values are then stored in SQLite. */
  readonly bucket: Bucket | undefined;
  readonly deletion: Deletion;
  readonly queue: TurnQueue;
  readonly index: ConversationIndex;
  readonly eventStreams = new EventStreams();
  readonly telemetry: Telemetry;
  /** Undefined if the tenant's spend is not limited. */
  readonly leases: QuotaService | undefined;
  readonly queries: ConversationQueries | undefined;
  readonly gateway: ConversationMcp | undefined;
  readonly plans: ConversationPlans | undefined;
  /** Abort it when a client asks: recovery then waits no longer. */
  readonly asked = new AbortController();
  /** The conversation's share of a time over which many of them are spread; 0 without a name. */
  readonly #share: number;
  #isSettleDue = false;
  readonly #settleLater = throttled(FLUSH_MS, () => {
    this.settle().catch((error: unknown) => logFailure(error, placeIn(this, "settle")));
  });
  #data: ConversationData | undefined;
  /** Access times are written in batches. */
  readonly #flushAccessSoon = throttled(FLUSH_MS, () => this.#data?.store.flushAccess());

  constructor(state: DurableObjectState, env: Cloudflare.Env, setup: ConversationSetup) {
    const { BLOBS }: Partial<Bindings> = env;
    this.state = state;
    this.env = env;
    this.setup = setup;
    this.prefix = `${state.id}/`;
    // The digest of the name, in hexadecimal.
    this.#share = state.id.name === undefined ? 0 : parseInt(this.prefix.slice(0, 8), 16) / 2 ** 32;
    this.sql = new DurableSql(state.storage);
    this.alarmClock = new AlarmClock(this.sql);
    // The parts of an import are not kept.
    const keepsDeleted = () =>
      this.settings.DELETED_VALUES === "keep" && nameIn(state.id.name).indexedId !== undefined;
    this.bucket = BLOBS && { blobs: new R2Blobs(BLOBS, keepsDeleted), prefix: this.prefix };
    this.deletion = new Deletion(this);
    this.queue = new TurnQueue(this);
    this.index = new ConversationIndex(this);
    this.telemetry = new Telemetry(this);
    this.leases = leasesOf(this, setup.spendLimits);
    this.queries = setup.queries?.open(this);
    this.gateway = setup.gateway?.open(this);
    this.plans = setup.plans?.open(this);
    this.deletion.onMarked(() => {
      this.#data = undefined;
      this.index.remove();
      this.eventStreams.end();
    });
  }

  /** Throws `bad_configuration`. */
  get settings(): Settings {
    return settingsOf(this.env);
  }

  /** Undefined until something is written: reading does not create a conversation. */
  get data(): ConversationData | undefined {
    return this.#data;
  }

  /** Throws `conversation_not_found`. */
  requireExisting(): ConversationData {
    if (this.#data !== undefined) return this.#data;
    throw new ByrefError("conversation_not_found", "There is no such conversation.");
  }

  /** Empty, and without cost, until something is written. */
  get store(): VariableStore {
    return this.#data?.store ?? EMPTY_STORE;
  }

  /** Creates the conversation if it does not exist: tables and alarm. Throws `conflict` during an import. */
  wake(dueMs?: number): ConversationData {
    if (this.#data !== undefined) return this.#data;
    this.deletion.requireNotImporting();
    this.#data = this.newData();
    // The alarm is in one commit with the tables, so the conversation expires even after a crash. Values
    // saved soon after are due by then too, so saving them sets no second alarm.
    const firstMs = dueMs ?? Date.now() + this.#data.shortestIdleMs;
    if (!this.alarmClock.isSet) void this.alarmClock.setBy(firstMs);
    return this.#data;
  }

  /** What an application's functions and tools learn about a question. */
  askedBy(identity: Identity, conversation: string): AgentContext {
    return { ...identity, conversation, env: this.env };
  }

  /** The named agent, or the default one. Throws `not_found` and `bad_configuration`. */
  chooseAgent(choice: AgentChoice) {
    return chooseAgent(this.setup, this.settings, choice);
  }

  /** Services for the runtime's own tools in a turn. */
  servicesFor(asked: AgentContext) {
    const { env, prefix, setup, queries, plans } = this;
    const files = filesIn(env, prefix, (file) =>
      this.data?.events.add({ type: "file.saved", file }),
    );
    return {
      code: setup.code,
      ...(plans && { planTools: (agent, wrap) => plans.toolsFor(agent, wrap) }),
      findAgent: (name) => this.chooseAgent({ name, asked }),
      ...(files && { files }),
      ...(queries && { queries: (wrap) => queries.toolsFor(wrap) }),
    } satisfies PlatformServices;
  }

  /** Creates data that no other part can see. */
  newData(): ConversationData {
    const { sql, bucket, setup } = this;
    const retention = this.#retention();
    const data = new ConversationData(sql, {
      bucket,
      retention,
      csv: setup.csv,
      share: this.#share,
      onAccess: this.#flushAccessSoon,
      onEvents: () => this.eventStreams.announce(),
    });
    this.queries?.watch(data);
    if (!data.isNew) {
      this.plans?.endRuns(data);
      data.holdNeeded();
      this.#collectGarbage(data);
    }
    return data;
  }

  /** Runs the work after everything in the queue. Throws `rate_limited` at once if the queue is full. */
  enqueue<Result>(work: (slot: QueueSlot) => Promise<Result>): QueuedTurn<Result> {
    return this.queue.take(async (running) => {
      // Creating the tables counts as the conversation's cost, not the turn's.
      const data = this.wake(Date.now());
      const before = this.sql.cost;
      const cost = () => {
        const { rowsRead, rowsWritten, alarms } = this.sql.cost;
        return {
          rowsRead: rowsRead - before.rowsRead,
          // The end of the turn sets an alarm, and writes the row of its events.
          rowsWritten: rowsWritten - before.rowsWritten + 2,
          alarms: alarms - before.alarms + 1,
        };
      };
      try {
        return await work({ ...running, data, cost });
      } finally {
        await this.settle({ endsQueue: this.queue.isLast });
      }
    });
  }

  /**
   * Waits before an interrupted turn or run is tried again. Conversations that woke together do not call a model
   * together: each adds its share of two seconds, unless a client asks.
   */
  async pauseBeforeRetry(recoveredLog: RecoveredLog, signal: AbortSignal): Promise<void> {
    await pause(recoveryDelayMs(recoveredLog, Date.now()), signal);
    await pause(RECOVERY_SPREAD_MS * this.#share, AbortSignal.any([signal, this.asked.signal]));
  }

  /** Call this in the commit that first writes a turn or a plan run. `turn`: the turn's id. */
  onTurnBegin(turn?: string): void {
    // The alarm's handler watches the turn. If the handler runs already, this has no effect.
    void this.alarmClock.setBy(Date.now());
    this.index.updateSoon();
    if (turn !== undefined) this.eventStreams.begin(turn);
  }

  /** Calls `settle` seconds later, so that the response to a read does not wait for its event. */
  settleSoon(): void {
    this.#isSettleDue = true;
    this.#settleLater();
  }

  /**
   * Returns written events, those of reads included. An `after` that no event has yet is of a conversation that was
   * deleted, or set back, since: then all events.
   */
  listEvents({ after, limit }: { readonly after: number; readonly limit: number }): EventPage {
    if (this.#data === undefined) return { events: [] };
    const { events } = this.#data;
    if (this.#isSettleDue) events.flush();
    return events.list({ after: after > events.newestId ? 0 : after, limit });
  }

  /**
   * Call this after a change: it writes events, collects garbage and sets the alarm. `endsQueue`: the last
   * turn in the queue has ended; its response then waits for the alarm, instead of the next turn's response.
   */
  async settle({ endsQueue = false } = {}): Promise<void> {
    const { alarmClock, index } = this;
    const data = this.#data;
    this.#isSettleDue = false;
    if (data === undefined) return;
    data.events.flush();
    index.update();
    this.#collectGarbage(data);
    const isOver = endsQueue && data.journal.head()?.isOpen !== true;
    // A value is not sealed as long as a model's database has a copy.
    await this.queries?.purged();
    await (isOver ? alarmClock.rearm(data.dueMs) : alarmClock.setBy(data.dueMs));
  }

  #retention(): Retention {
    const { tenant, conversation, kind } = nameIn(this.state.id.name);
    if (kind === IMPORT) return PARTS_RETENTION;
    if (kind === USER) return USER_RETENTION;
    const { retention } = this.setup;
    if (typeof retention !== "function") return requireNumbers("retention", retention);
    if (tenant === undefined || conversation === undefined) return {};
    return requireNumbers("retention", retention({ tenant, conversation, env: this.env }));
  }

  /** No response waits for it; if it fails, the alarm tries again. */
  #collectGarbage({ store }: ConversationData): void {
    if (!store.hasGarbage()) return;
    const log = (error: unknown) => void logFailure(error, placeIn(this, "sweep"));
    this.state.waitUntil(store.sweep().catch(log));
  }
}

/** Delay after which access times, and queries in the audit log, are written in one batch. */
const FLUSH_MS = 5_000;

/** Longest pause before an interrupted turn is tried again, for this reason alone. */
const RECOVERY_SPREAD_MS = 2_000;

/** A turn reads all values of a user at once, and they outlast its conversations. */
const USER_RETENTION: Retention = {
  quotaBytes: limits.maxUserBytes,
  variableIdleMs: limits.userIdleMs,
  conversationIdleMs: limits.userIdleMs,
};

/** The parts of an import that are not joined. */
const PARTS_RETENTION: Retention = {
  quotaBytes: limits.maxTransferBytes,
  variableIdleMs: limits.idleMs,
  conversationIdleMs: limits.idleMs,
};

/** The store of a conversation that has no data yet. */
const EMPTY_STORE = new SqlStore({
  run: () => undefined,
  all: () => [],
  transaction: (work) => work(),
});
