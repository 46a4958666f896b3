import * as limits from "../../../../src/limits.ts";
import { attemptRecovered, attemptResumed, attemptRun, type RunStart } from "./attempt-run.ts";
import { decidedGates } from "./gate-decisions.ts";
import { type ListedPlan, listedOf, type PlanView, runViewOf, viewOf } from "./plan-view.ts";
import { endRuns, plansOf } from "./plans-of.ts";
import { cancelWaitingRuns, planLines, takePlanLine, withdrawApprovals } from "./transfer-plans.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { nothingWaits, openGates } from "../plan/gates.ts";
import { requireInput, withDefaults } from "../plan/plan-input.ts";
import { type PlanRecord, type StoredRun, isOpenRun } from "../plan/plan-record.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanRun } from "../plan/plan-run.ts";
import { planNotFound, type PlanStore } from "../plan/plan-store.ts";
import { cancelRun } from "../run/plan-turn.ts";
import { planFrom, type PlanSource } from "../program/plan-from.ts";
import { planRecomputation, recomputationView } from "./recompute.ts";
import type { Planner } from "../run/open-plan.ts";
import { type Proposal, proposePlan, proposePlanTool } from "../run/propose-plan.ts";
import {
  type AgentContext,
  type ConversationData,
  decidedEvent,
  identityIn,
  logFailure,
  placeIn,
  type QueuedTurn,
  respond,
  type TurnRequest,
  type Turns,
  type contexts,
  chosenAgents,
} from "../../../../src/internal-edge.ts";
import {
  answerOf,
  type CheckedProgram,
  type ProgramOutcome,
  type ProgramStart,
  type WrittenProgram,
} from "./program.ts";
import { checkMessage, exchangeIn, runMessage } from "./message-program.ts";
import { programTools } from "./run-program-tool.ts";
import type { Identity } from "../../../../src/runtime.ts";
import {
  type StoredMessage,
  type TurnHead,
  type runtimeTools,
  turnAgents,
  type wraps,
} from "../../../../src/internal-tool.ts";
import { joinedLabels, json, unlessAborted, withUser } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** A proposal from a person: a text, or the value or answer that a plan is made from. */
interface ProposalRequest {
  readonly proposal: Proposal | PlanSource;
  readonly asked: AgentContext;
  /** Default: the application's first agent. */
  readonly agent?: string | undefined;
}

interface ProgramRequest extends Omit<ProposalRequest, "proposal"> {
  readonly proposal: WrittenProgram;
}

interface RecomputeRequest extends Omit<ProposalRequest, "proposal"> {
  /** Default: all that are stale. */
  readonly names?: readonly string[] | undefined;
  readonly run: boolean;
}

interface RunRequest {
  readonly input?: Json | undefined;
  readonly keep?: boolean | undefined;
  /** Default: a new id. */
  readonly run?: string;
  readonly isTrusted?: boolean;
  readonly retries?: boolean;
  readonly conversation: string;
}

interface LiveRun extends QueuedTurn<StoredRun> {
  readonly plan: string;
  /** Undefined until the run begins. */
  run?: PlanRun;
}

type RunWork = (start: RunStart) => Promise<StoredRun>;

/** A conversation's plans and runs: requested over HTTP, or recovered after a crash. */
export class Plans implements contexts.ConversationPlans {
  readonly #context: contexts.ConversationContext;
  readonly #planFormats: readonly PlanFormat[];
  readonly #live = new Set<LiveRun>();
  /** Runs of programs that are asked for now. */
  readonly #programRuns = new Map<string, Promise<ProgramOutcome>>();

  constructor(context: contexts.ConversationContext, planFormats: readonly PlanFormat[]) {
    this.#context = context;
    this.#planFormats = planFormats;
  }

  /** True while the queue executes a plan run. */
  get isRunning(): boolean {
    const { running } = this.#context.queue;
    return running !== undefined && [...this.#live].some(({ log }) => log === running);
  }

  /** Undefined in a conversation without data. */
  get #records(): PlanStore | undefined {
    const { data } = this.#context;
    return data && plansOf(data);
  }

  get isWaiting(): boolean {
    return this.#records?.hasWaiting() === true;
  }

  /** Throws `invalid_plan` with all findings; then nothing is stored. */
  propose(request: ProposalRequest): Promise<PlanView> {
    return this.#proposing(request, (record) => {
      this.#keep(record);
      return this.#view(record);
    });
  }

  #proposing<Result>(
    { proposal, ...request }: ProposalRequest,
    then: (record: PlanRecord, written: Proposal) => Promise<Result> | Result,
  ): Promise<Result> {
    const isFrom = "from" in proposal;
    return this.#equipped(isFrom ? this.#asBefore(request) : request, async (agent, signal) => {
      const written = isFrom ? await this.#proposalFrom(proposal, agent) : proposal;
      // An application's policy may take a while.
      const proposed = await unlessAborted(this.#propose(agent, written), signal);
      signal.throwIfAborted();
      return then(proposed, written);
    });
  }

  async #equipped<Result>(
    { agent, asked }: Omit<ProposalRequest, "proposal">,
    work: (agent: turnAgents.Agent, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { setup, settings, deletion } = this.#context;
    const chosen = chosenAgents.chooseAgent(setup, settings, { name: agent, asked });
    try {
      return await deletion.stoppably(async (signal) => {
        const equipped = await chosen.equip(signal);
        try {
          return await work(equipped.agent, signal);
        } finally {
          void equipped.close();
        }
      });
    } finally {
      await this.#context.settle();
    }
  }

  /** Names the agent of the newest turn, which has made the calls, if the request names none. */
  #asBefore<Request extends { readonly agent?: string | undefined }>(request: Request): Request {
    const { data, setup } = this.#context;
    const last = data?.journal.head()?.agent;
    const isThere = setup.agents.some(({ name }) => name === last);
    return { ...request, agent: request.agent ?? (isThere ? last : undefined) };
  }

  /** Says which calls make stale values again, and runs them if asked, as an approved plan. */
  async recompute(
    { names, run, ...request }: RecomputeRequest,
    headers: Headers,
  ): Promise<Response> {
    this.#context.requireExisting();
    const planned = await this.#equipped(this.#asBefore(request), async (agent, signal) => {
      const planning = planRecomputation(this.#planner(agent), names);
      const { record, ...others } = await unlessAborted(planning, signal);
      return { ...others, agent, ...json.compact({ record }) };
    });
    const { record } = planned;
    if (!run || record === undefined) return Response.json(recomputationView(planned));
    this.#keep({ ...record, status: "approved" });
    return this.run(record.id, { conversation: request.asked.conversation }, headers);
  }

  /** Makes a plan from this conversation that does not need it, and stores nothing. */
  writeProgram(
    request: ProposalRequest & { readonly proposal: PlanSource },
  ): Promise<Proposal & Pick<PlanRecord, "agent">> {
    return this.#proposing(request, ({ agent }, written) => ({ ...written, agent }));
  }

  /** Checks a program, and stores nothing. Throws `invalid_plan` with all findings. */
  async checkProgram({ proposal, ...request }: ProgramRequest): Promise<CheckedProgram> {
    const { format } = proposal;
    if (format === "message") return checkMessage(this.#context, proposal, request);
    return this.#proposing({ ...request, proposal: { ...proposal, format } }, (record) => {
      const { agent, calls, findings } = listedOf({ ...record, ...record.plan });
      return { agent, calls, findings, ...json.compact({ input: record.plan.input as Json }) };
    });
  }

  /** Throws `not_found` without the agent, and `bad_request` if its model runs no programs. */
  requireRunsPrograms({ agent: name, asked }: Omit<ProposalRequest, "proposal">): object {
    const { setup, settings } = this.#context;
    const { agent } = chosenAgents.chooseAgent(setup, settings, { name, asked });
    if (agent.programs === true) return {};
    const message = `${agent.name} has no programs: true, so that its model runs none.`;
    throw new ByrefError("bad_request", message);
  }

  /**
   * Runs a program in this conversation, and waits until it ends or waits for a person. A run that is known is not
   * started again. Throws `not_found` for an unknown one that may not start.
   */
  runProgram(start: ProgramStart, headers: Headers, turns: Turns): Promise<ProgramOutcome> {
    const again = `${start.run} again`;
    const key = start.retries === true ? again : start.run;
    const known = this.#programRuns.get(again) ?? this.#programRuns.get(key);
    if (known !== undefined) return known;
    const running = this.#runProgram(start, headers, turns).finally(() => {
      this.#programRuns.delete(key);
    });
    this.#programRuns.set(key, running);
    return running;
  }

  async #runProgram(start: ProgramStart, headers: Headers, turns: Turns): Promise<ProgramOutcome> {
    const { run, name, program, isTrusted, conversation, retries = false } = start;
    await this.#context.deletion.whenDone();
    let stored = this.#records?.run(run);
    const asker = identityIn(headers, this.#context);
    const asked = this.#context.askedBy(asker, conversation);
    if (program?.format === "message" || exchangeIn(this.#context, run) !== undefined)
      return runMessage(this.#context, start, { asked, asker, turns });
    if (retries && stored?.record.status === "failed") {
      const request = { run, input: stored.input, isTrusted, retries, conversation };
      stored = await (await this.#begin(stored.record.plan, request, headers)).live.result;
    } else if (stored?.record.status === "running") {
      // A restart has interrupted it, and it continues.
      await [...this.#live].find(({ plan }) => plan === stored?.record.plan)?.result;
      stored = this.#records?.run(run);
    }
    if (stored === undefined) {
      if (program === undefined) throw new ByrefError("not_found", `There is no run ${run}.`);
      const proposal = { ...program, format: program.format };
      // A plan that is there may have been imported by another person.
      const { id } = await this.#proposing({ proposal, agent: program.agent, asked }, (record) => {
        this.#keep({ ...record, status: "approved" });
        this.#context.requireExisting().setTitle(name);
        return record;
      });
      const request = { run, input: start.input, isTrusted, conversation };
      stored = await (await this.#begin(id, request, headers)).live.result;
    }
    const { plan } = this.#recordsWith(run).required(stored.record.plan);
    const { store } = this.#context;
    const view = await runViewOf(plan, stored, { store });
    // Besides the results, its own conversation has what calls have made, the input and what they kept.
    const labels = joinedLabels(store.list().filter(({ tool }) => tool === undefined));
    return { run: view, labels, ...json.compact({ text: answerOf(plan, view) }) };
  }

  /** Oldest first, without values and runs. */
  list(): { readonly plans: readonly ListedPlan[] } {
    const records = this.#records?.list(limits.maxPageChars) ?? [];
    return { plans: records.map(listedOf) };
  }

  view(id: string): Promise<PlanView> {
    return this.#view(this.#recordsWith(id).required(id));
  }

  /** Throws `plan_not_approved` for a cancelled plan. */
  async approve(id: string, { principal }: Identity): Promise<PlanView> {
    const status = this.#recordsWith(id).statusOf(id);
    if (status === "cancelled") {
      throw new ByrefError("plan_not_approved", "The plan has been cancelled; propose it again.");
    }
    if (status === "proposed") await this.#note(id, "plan.approved", principal);
    return this.view(id);
  }

  /** Cancels the plan and its open runs. Has no effect on a plan that has ended. */
  async cancel(id: string): Promise<PlanView> {
    const { queue, deletion } = this.#context;
    const live = [...this.#live].filter(({ plan }) => plan === id);
    const status = this.#recordsWith(id).statusOf(id);
    if ((status === "done" || status === "failed") && live.length === 0) {
      return this.view(id);
    }
    // From here on, the plan's runs can no longer begin.
    await this.#note(id, "plan.cancelled");
    for (const { log } of live) queue.stopOne(log);
    await Promise.allSettled(live.flatMap(({ run, result }) => (run === undefined ? [] : result)));
    await deletion.stoppably(async (signal) => {
      const { data } = this.#context;
      for (const record of this.#records?.openRuns(id) ?? []) {
        if (data === undefined || signal.aborted) continue;
        const { store, journal } = data;
        await cancelRun({ plans: plansOf(data), store, journal }, record);
        data.events.add({ type: "run.cancelled", run: record.id, plan: id });
      }
    });
    await this.#context.settle();
    return this.view(id);
  }

  /** Approves the plan unless its run would be refused, and runs it. */
  async approveAndRun(id: string, request: RunRequest, headers: Headers): Promise<Response> {
    const { plan } = this.#recordsWith(id).required(id);
    requireInput(plan, withDefaults(plan, request.input ?? {}));
    await this.approve(id, identityIn(headers, this.#context));
    return this.run(id, request, headers);
  }

  /** Runs the plan, and streams as a turn does. */
  async run(id: string, request: RunRequest, headers: Headers): Promise<Response> {
    const { plan, live } = await this.#begin(id, request, headers);
    return this.#respond(plan, live, { headers });
  }

  async #begin(
    id: string,
    { input = {}, keep = true, conversation, ...more }: RunRequest,
    headers: Headers,
  ): Promise<{ readonly plan: PlanRecord; readonly live: LiveRun }> {
    await this.#context.deletion.whenDone();
    const plan = this.#recordsWith(id).required(id);
    const whole = withDefaults(plan.plan, input);
    requireApproved(plan);
    requireInput(plan.plan, whole);
    this.#records?.requireRoom(id);
    const { run: wanted, isTrusted = true, retries = false } = more;
    const run = wanted ?? `r${crypto.randomUUID().slice(0, 8)}`;
    const asked = this.#context.askedBy(identityIn(headers, this.#context), conversation);
    const live = this.#start(plan, asked, (start) => {
      // The run was queued; the plan may have been cancelled meanwhile.
      requireApproved({ id, status: plansOf(start.data).statusOf(id) });
      const traceparent = headers.get("traceparent");
      const newRun = { plan, id: run, input: whole, keep, isTrusted, retries, conversation };
      return attemptRun(this.#context, newRun, { ...start, traceparent, asker: asked });
    });
    return { plan, live };
  }

  /**
   * Applies decisions on gates that runs wait for; returns undefined if there are none. Throws `conflict` if
   * several runs match and the request names none, and `approval_not_found` if another request decided first.
   */
  async decide(turn: TurnRequest, headers: Headers): Promise<Response | undefined> {
    const { data } = this.#context;
    const decided = data === undefined ? undefined : decidedGates(data, turn);
    if (decided === undefined || data === undefined) return undefined;
    const { record, decisions } = decided;
    const decider = identityIn(headers, this.#context);
    const plan = plansOf(data).required(record.plan);
    const live = [...this.#live].find((one) => one.run?.record.id === record.id);
    if (live?.run !== undefined) {
      const first = live.log.length;
      const taken = [];
      for (const [gate, decision] of decisions) {
        const isTaken = await live.run.decide(gate, decision);
        taken.push(isTaken);
        const about = { run: record.id, approval: gate };
        if (isTaken) data.events.add(decidedEvent(about, decision.approved, decider));
      }
      data.events.flush();
      if (taken.includes(true)) return this.#respond(plan, live, { headers, first });
    }
    // Another request may have decided meanwhile.
    const now = plansOf(data).run(record.id)?.record;
    const open = now === undefined || !isOpenRun(now) ? undefined : openGates(plan.plan, now);
    if (!decisions.some(([gate]) => open?.has(gate))) throw nothingWaits();
    const { conversation = "" } = turn;
    const traceparent = headers.get("traceparent");
    const about = { run: record.id, decisions, conversation };
    // It runs for the one who started it, not for the one who decides.
    const { tenant } = decider;
    const asker = plansOf(data).askerOf(record.id) ?? { tenant };
    const resumed = this.#start(plan, this.#context.askedBy(asker, conversation), (start) =>
      attemptResumed(this.#context, about, { ...start, traceparent, decider }),
    );
    return this.#respond(plan, resumed, { headers });
  }

  /** Continues the run that a restart has interrupted. */
  recover({ id, agent, ...head }: TurnHead): void {
    const { setup } = this.#context;
    const plan = this.#records?.run(id)?.record.plan ?? "";
    const chooseNow = () => {
      const choice = { name: agent, asked: this.#context.askedOf(head) };
      return chosenAgents.chooseAgentOrFallback(setup, () => this.#context.settings, choice);
    };
    const live = this.#take(plan, chooseNow, async (start) => {
      const recoveredLog = start.log.recover(start.data.journal);
      await this.#context.pauseBeforeRetry(recoveredLog, start.signal);
      return attemptRecovered(this.#context, recoveredLog, start);
    });
    live.result.catch((error: unknown) => logFailure(error, placeIn(this.#context, "run")));
  }

  async toolsFor(
    agent: turnAgents.Agent,
    wrap: wraps.WrapOptions,
  ): Promise<readonly runtimeTools.RuntimeTool[]> {
    // An agent that a run calls starts no other run: programs could start one another without end.
    const running = this.isRunning ? [] : await programTools(this.#context, agent, wrap);
    if (Object.keys(agent.tools).length === 0) return running;
    const proposing = proposePlanTool(agent, {
      propose: (proposer, proposal) => this.#propose(proposer, proposal),
      keep: (record) => this.#keep(record),
    });
    return [proposing, ...running];
  }

  endRuns(data: ConversationData): void {
    endRuns(data);
  }

  exported(data: ConversationData): Iterable<contexts.PlanLine> {
    return planLines(data);
  }

  take(data: ConversationData, line: contexts.PlanLine): void {
    takePlanLine(data, line);
  }

  async endImport(data: ConversationData, { isTrusted, reason }: contexts.EndOfImport) {
    const cancelled = await cancelWaitingRuns(data, reason);
    return { cancelled, withdrawn: isTrusted ? 0 : withdrawApprovals(data) };
  }

  async #proposalFrom(source: PlanSource, agent: turnAgents.Agent): Promise<Proposal> {
    const { history, store } = this.#context.requireExisting();
    const { syntaxes = ["dollar"] } = turnAgents.wrapOptionsFor(agent);
    const messages = messagesOf(history.between(0, history.lastSeq()));
    return { format: "json", ...(await planFrom(source, { messages, store, syntaxes })) };
  }

  #propose(agent: turnAgents.Agent, proposal: Proposal): Promise<PlanRecord> {
    return proposePlan(this.#planner(agent), proposal);
  }

  #planner(agent: turnAgents.Agent): Planner {
    const context = this.#context;
    const { context: asked } = agent;
    const services =
      asked === undefined ? {} : context.servicesFor(context.askedBy(asked, asked.conversation));
    const store = withUser(context.store, undefined, agent.userScope);
    return { agent, store, services, planFormats: this.#planFormats };
  }

  #keep(record: PlanRecord): void {
    const data = this.#context.wake();
    plansOf(data).add(record);
    // A recompute is asked for with its calls known: nobody has to look at a proposal.
    const type = record.plan.remakes === true ? "plan.approved" : "plan.proposed";
    data.events.add({ type, plan: record.id });
  }

  #start({ id, agent }: PlanRecord, asked: AgentContext, work: RunWork): LiveRun {
    const { setup } = this.#context;
    const choice = { name: agent, asked };
    return this.#take(
      id,
      () => chosenAgents.chooseAgent(setup, this.#context.settings, choice),
      work,
    );
  }

  /** Queues the work, and tracks the run until it ends. */
  #take(plan: string, chooseNow: RunStart["chooseNow"], work: RunWork): LiveRun {
    const onRun = (run: PlanRun) => {
      live.run = run;
    };
    const about = { chooseNow, onRun, planFormats: this.#planFormats };
    const queued = this.#context.enqueue((slot) => work({ ...slot, ...about }));
    const live: LiveRun = { ...queued, plan };
    this.#live.add(live);
    const forget = () => void this.#live.delete(live);
    live.result.then(forget, forget);
    return live;
  }

  #respond(
    plan: PlanRecord,
    live: LiveRun,
    { headers, first }: { readonly headers: Headers; readonly first?: number },
  ): Promise<Response> {
    const result = live.result.then((run) =>
      runViewOf(plan.plan, run, { store: this.#context.store }),
    );
    const toResponse = (view: Awaited<typeof result>) => Response.json(view);
    const from = first === undefined ? {} : { first };
    return respond(headers.get("accept"), {
      log: live.log,
      result,
      toResponse,
      place: placeIn(this.#context, "run"),
      ...from,
    });
  }

  /** Throws `not_found` in a conversation without data. */
  #recordsWith(id: string): PlanStore {
    if (this.#records !== undefined) return this.#records;
    throw planNotFound(id);
  }

  #view(record: PlanRecord): Promise<PlanView> {
    const { data } = this.#context;
    if (data === undefined) throw planNotFound(record.id);
    return viewOf(record, plansOf(data), data.store);
  }

  async #note(
    id: string,
    type: "plan.approved" | "plan.cancelled",
    principal?: string,
  ): Promise<void> {
    this.#records?.setStatus(id, type === "plan.approved" ? "approved" : "cancelled");
    this.#context.data?.events.add({ type, plan: id, ...json.compact({ principal }) });
    await this.#context.settle();
  }
}

function* messagesOf(
  sized: Iterable<{ readonly message: StoredMessage }>,
): Generator<StoredMessage> {
  for (const { message } of sized) yield message;
}

function requireApproved({ id, status }: Pick<PlanRecord, "id" | "status">): void {
  if (status !== "proposed" && status !== "cancelled") return;
  const advice =
    status === "cancelled"
      ? "propose it again."
      : `it must be approved first: POST …/plans/${id}/approve.`;
  throw new ByrefError("plan_not_approved", `The plan is ${status}; ${advice}`);
}
