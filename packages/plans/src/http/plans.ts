import * as limits from "../../../../src/limits.ts";
import { type ListedPlan, listedOf, type PlanView, runViewOf, viewOf } from "./plan-view.ts";
import {
  cancelWaitingRuns,
  endRuns,
  planLines,
  plansOf,
  takePlanLine,
  withdrawApprovals,
} from "./plans-of.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { nothingWaits, openGates } from "../plan/gates.ts";
import { requireInput, withDefaults } from "../plan/plan-input.ts";
import { type PlanRecord, type RunRecord, type StoredRun, isOpenRun } from "../plan/plan-record.ts";
import type { PlanFormat } from "../plan/plan-format.ts";
import type { PlanRun } from "../plan/plan-run.ts";
import { planNotFound, type PlanStore } from "../plan/plan-store.ts";
import {
  cancelRun,
  recoverRun,
  requireApproved,
  resumeRun,
  type RunDecisions,
  type RunOptions,
  startRun,
} from "../run/plan-turn.ts";
import { planFrom, type PlanSource } from "../program/plan-from.ts";
import { planRecomputation } from "./recompute.ts";
import { type Planner, type Proposal, proposePlan, proposePlanTool } from "../run/open-plan.ts";
import {
  type AgentContext,
  type ConversationData,
  type ConversationParts,
  decidedEvent,
  identityIn,
  placeIn,
  queueRun,
  respond,
  type TurnRequest,
  type Turns,
  type contexts,
} from "../../../../src/internal-edge.ts";
import {
  answerOf,
  requireSame,
  type CheckedProgram,
  type ProgramOutcome,
  type ProgramStart,
  type WrittenProgram,
} from "./program-schemas.ts";
import { checkMessage, exchangeIn, runMessage } from "./message-program.ts";
import { programTools } from "./run-program-tool.ts";
import {
  type TurnHead,
  type runtimeTools,
  turnAgents,
  type wraps,
} from "../../../../src/internal-tool.ts";
import { joinedLabels, json, unlessAborted, withUser } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** Who asks, and how: the headers say what is answered, and name the trace. */
export interface Asking {
  readonly asked: AgentContext;
  readonly headers: Headers;
}

export function askingIn(id: string, { headers }: Request, { context }: ConversationParts): Asking {
  return { asked: context.askedBy(identityIn(headers, context), id), headers };
}

interface AgentRequest {
  /** Default: the application's first agent. */
  readonly agent?: string | undefined;
}

/** A proposal from a person: a text, or the value or answer that a plan is made from. */
interface ProposalRequest<Written = Proposal | PlanSource> extends AgentRequest {
  readonly proposal: Written;
}

interface RecomputeRequest extends AgentRequest {
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
}

interface LiveRun extends ReturnType<typeof queueRun<StoredRun>> {
  readonly plan: string;
  /** Undefined until the run begins. */
  run?: PlanRun;
}

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
  propose(request: ProposalRequest, asking: Asking): Promise<PlanView> {
    return this.#proposing(request, asking, (record) => {
      this.#keep(record);
      return this.view(record.id);
    });
  }

  #proposing<Result>(
    { proposal, agent: name }: ProposalRequest,
    { asked }: Asking,
    then: (record: PlanRecord, written: Proposal) => Promise<Result> | Result,
  ): Promise<Result> {
    const isFrom = "from" in proposal;
    return this.#equipped(isFrom ? this.#asBefore(name) : name, asked, async (agent, signal) => {
      const written = isFrom ? await this.#proposalFrom(proposal, agent) : proposal;
      // An application's policy may take a while.
      const proposed = await unlessAborted(this.#propose(agent, written), signal);
      signal.throwIfAborted();
      return then(proposed, written);
    });
  }

  async #equipped<Result>(
    name: string | undefined,
    asked: AgentContext,
    work: (agent: turnAgents.Agent, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const chosen = this.#context.chooseAgent({ name, asked });
    try {
      return await this.#context.deletion.stoppably(async (signal) => {
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

  /** The agent of the newest turn, which has made the calls, if the request names none. */
  #asBefore(wanted: string | undefined): string | undefined {
    const { data, setup } = this.#context;
    const last = data?.journal.head()?.agent;
    return wanted ?? setup.agents.find(({ name }) => name === last)?.name;
  }

  /** Says which calls make stale values again, and runs them if asked, as an approved plan. */
  async recompute(
    { names, run, agent: wanted }: RecomputeRequest,
    asking: Asking,
  ): Promise<Response> {
    this.#context.requireExisting();
    const name = this.#asBefore(wanted);
    const { record, view } = await this.#equipped(name, asking.asked, (agent, signal) =>
      unlessAborted(planRecomputation(this.#planner(agent), names), signal),
    );
    if (!run || record === undefined) return Response.json(view);
    this.#keep({ ...record, status: "approved" });
    return this.run(record.id, {}, asking);
  }

  /** Makes a plan from this conversation that does not need it, and stores nothing. */
  writeProgram(
    request: ProposalRequest<PlanSource>,
    asking: Asking,
  ): Promise<Proposal & Pick<PlanRecord, "agent">> {
    return this.#proposing(request, asking, ({ agent }, written) => ({ ...written, agent }));
  }

  /** Checks a program, and stores nothing. Throws `invalid_plan` with all findings. */
  async checkProgram(
    { proposal, agent: name }: ProposalRequest<WrittenProgram>,
    asking: Asking,
  ): Promise<CheckedProgram> {
    const { format } = proposal;
    if (format === "message") {
      const checked = checkMessage(proposal);
      const { agent } = this.#context.chooseAgent({ name, asked: asking.asked });
      return { ...checked, agent: agent.name };
    }
    const request = { proposal: { ...proposal, format }, agent: name };
    return this.#proposing(request, asking, (record) => {
      const { agent, calls, findings } = listedOf({ ...record, ...record.plan });
      return { agent, calls, findings, ...json.compact({ input: record.plan.input as Json }) };
    });
  }

  /** Throws `not_found` without the agent, and `bad_request` if its model runs no programs. */
  requireRunsPrograms({ agent: name }: AgentRequest, { asked }: Asking): object {
    const { agent } = this.#context.chooseAgent({ name, asked });
    if (agent.programs === true) return {};
    const message = `${agent.name} has no programs: true, so that its model runs none.`;
    throw new ByrefError("bad_request", message);
  }

  /**
   * Runs a program in this conversation, and waits until it ends or waits for a person. A run that is known is not
   * started again. Throws `not_found` for an unknown one that may not start.
   */
  runProgram(start: ProgramStart, asking: Asking, turns: Turns): Promise<ProgramOutcome> {
    const again = `${start.run} again`;
    const key = start.retries === true ? again : start.run;
    const known = this.#programRuns.get(again) ?? this.#programRuns.get(key);
    if (known !== undefined) return known;
    const running = this.#runProgram(start, asking, turns).finally(() => {
      this.#programRuns.delete(key);
    });
    this.#programRuns.set(key, running);
    return running;
  }

  async #runProgram(start: ProgramStart, asking: Asking, turns: Turns): Promise<ProgramOutcome> {
    const { run, name, program, isTrusted, retries = false } = start;
    await this.#context.deletion.whenDone();
    let stored = this.#records?.run(run);
    if (program?.format === "message" || exchangeIn(this.#context, run) !== undefined)
      return runMessage(this.#context, start, { asked: asking.asked, turns });
    if (stored !== undefined && program !== undefined && !retries)
      requireSame(start.input, stored.input);
    if (retries && stored?.record.status === "failed") {
      const request = { run, input: stored.input, isTrusted, retries };
      stored = await (await this.#begin(stored.record.plan, request, asking)).live.result;
    } else if (stored?.record.status === "running") {
      // A restart has interrupted it, and it continues.
      await [...this.#live].find(({ plan }) => plan === stored?.record.plan)?.result;
      stored = this.#records?.run(run);
    }
    if (stored === undefined) {
      if (program === undefined) throw new ByrefError("not_found", `There is no run ${run}.`);
      const proposal = { ...program, format: program.format };
      const { agent } = program;
      // A plan that is there may have been imported by another person.
      const { id } = await this.#proposing({ proposal, agent }, asking, (record) => {
        this.#keep({ ...record, status: "approved" });
        this.#context.requireExisting().setTitle(name);
        return record;
      });
      const request = { run, input: start.input, isTrusted };
      stored = await (await this.#begin(id, request, asking)).live.result;
    }
    const { plan } = this.#recordsWith(run).required(stored.record.plan);
    const { store } = this.#context;
    const view = await runViewOf(plan, stored, store);
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
    const plans = this.#recordsWith(id);
    return viewOf(plans.required(id), plans, this.#context.store);
  }

  /** Throws `plan_not_approved` for a cancelled plan. */
  async approve(id: string, { principal }: AgentContext): Promise<PlanView> {
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
        await cancelRun({ ...data, plans: plansOf(data) }, record);
        data.events.add({ type: "run.cancelled", run: record.id, plan: id });
      }
    });
    await this.#context.settle();
    return this.view(id);
  }

  /** Approves the plan unless its run would be refused, and runs it. */
  async approveAndRun(id: string, asking: Asking): Promise<Response> {
    const { plan } = this.#recordsWith(id).required(id);
    requireInput(plan, withDefaults(plan, {}));
    await this.approve(id, asking.asked);
    return this.run(id, {}, asking);
  }

  /** Runs the plan, and streams as a turn does. */
  async run(id: string, request: RunRequest, asking: Asking): Promise<Response> {
    const { plan, live } = await this.#begin(id, request, asking);
    return this.#respond(plan, live, asking);
  }

  async #begin(
    id: string,
    { input = {}, keep = true, run: wanted, isTrusted = true, retries = false }: RunRequest,
    { asked, headers }: Asking,
  ): Promise<{ readonly plan: PlanRecord; readonly live: LiveRun }> {
    await this.#context.deletion.whenDone();
    const plan = this.#recordsWith(id).required(id);
    const whole = withDefaults(plan.plan, input);
    requireApproved(plan);
    requireInput(plan.plan, whole);
    this.#records?.requireRoom(id);
    const run = wanted ?? `r${crypto.randomUUID().slice(0, 8)}`;
    const live = this.#queue(id, placeOf(run, plan, { asked, headers }), (options) =>
      startRun(options, { plan, id: run, input: whole, keep, isTrusted, retries }),
    );
    return { plan, live };
  }

  /**
   * Applies decisions on gates that runs wait for; returns undefined if there are none. Throws `conflict` if
   * several runs match and the request names none, and `approval_not_found` if another request decided first.
   */
  async decide(turn: TurnRequest, headers: Headers): Promise<Response | undefined> {
    const { data } = this.#context;
    const plans = data && plansOf(data);
    const decided = plans && decidedGates(plans, turn);
    if (data === undefined || plans === undefined || decided === undefined) return undefined;
    const { record, decisions } = decided;
    const run = record.id;
    const decider = identityIn(headers, this.#context);
    const onTaken = (gate: string, approved: boolean) =>
      data.events.add(decidedEvent({ run, approval: gate }, approved, decider));
    const plan = plans.required(record.plan);
    const live = [...this.#live].find((one) => one.run?.record.id === run);
    if (live?.run !== undefined) {
      const first = live.log.length;
      let isTaken = false;
      for (const [gate, decision] of decisions) {
        if (!(await live.run.decide(gate, decision))) continue;
        isTaken = true;
        onTaken(gate, decision.approved);
      }
      data.events.flush();
      if (isTaken) return this.#respond(plan, { ...live, first }, { headers });
    }
    // Another request may have decided meanwhile.
    const now = plans.run(run)?.record;
    const open = now === undefined || !isOpenRun(now) ? undefined : openGates(plan.plan, now);
    if (!decisions.some(([gate]) => open?.has(gate))) throw nothingWaits();
    // It runs for the one who started it, not for the one who decides.
    const asker = plans.askerOf(run) ?? { tenant: decider.tenant };
    const asked = this.#context.askedBy(asker, turn.conversation ?? "");
    const resumed = this.#queue(plan.id, placeOf(run, plan, { asked, headers }), (options) =>
      resumeRun(options, { run, decisions }, onTaken),
    );
    return this.#respond(plan, resumed, { headers });
  }

  /** Continues the run that a restart has interrupted. */
  recover(recovers: TurnHead): void {
    const plan = this.#records?.run(recovers.id)?.record.plan ?? "";
    this.#queue(plan, { recovers }, recoverRun);
  }

  async toolsFor(
    agent: turnAgents.Agent,
    wrap: wraps.WrapOptions,
  ): Promise<readonly runtimeTools.RuntimeTool[]> {
    // An agent that a run calls starts no other run: programs could start one another without end.
    const running = this.isRunning ? [] : await programTools(this.#context, agent, wrap);
    if (Object.keys(agent.tools).length === 0) return running;
    const proposing = proposePlanTool({
      propose: (proposal) => this.#propose(agent, proposal),
      keep: (record) => this.#keep(record),
    });
    return [proposing, ...running];
  }

  readonly endRuns = endRuns;
  readonly exported = planLines;
  readonly take = takePlanLine;

  async endImport(data: ConversationData, { isTrusted, reason }: contexts.EndOfImport) {
    const cancelled = await cancelWaitingRuns(data, reason);
    return { cancelled, withdrawn: isTrusted ? 0 : withdrawApprovals(data) };
  }

  async #proposalFrom(source: PlanSource, agent: turnAgents.Agent): Promise<Proposal> {
    const { history, store } = this.#context.requireExisting();
    const { syntaxes = ["dollar"] } = turnAgents.wrapOptionsFor(agent);
    const messages = history.between(0, history.lastSeq());
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

  /** Queues the work, and tracks the run until it ends. */
  #queue(
    plan: string,
    place: Parameters<typeof queueRun>[1],
    work: (options: RunOptions) => Promise<StoredRun>,
  ): LiveRun {
    const planFormats = this.#planFormats;
    const onBegin = () => this.#context.onTurnBegin();
    const onRun = (run: PlanRun) => {
      live.run = run;
    };
    const queued = queueRun(this.#context, place, (attempt, data) => {
      const { events } = data;
      return work({ attempt, events, plans: plansOf(data), planFormats, onBegin, onRun });
    });
    const live: LiveRun = { ...queued, plan };
    this.#live.add(live);
    const forget = () => void this.#live.delete(live);
    live.result.then(forget, forget);
    return live;
  }

  #respond(
    { plan }: PlanRecord,
    live: LiveRun,
    { headers }: Pick<Asking, "headers">,
  ): Promise<Response> {
    const { result } = live;
    return respond(headers.get("accept"), {
      ...live,
      result: result.then((run) => runViewOf(plan, run, this.#context.store)),
      toResponse: (view) => Response.json(view),
      place: placeIn(this.#context, "run"),
    });
  }

  /** Throws `not_found` in a conversation without data. */
  #recordsWith(id: string): PlanStore {
    if (this.#records !== undefined) return this.#records;
    throw planNotFound(id);
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

/** A run's place in the queue: its id, its agent, and who asks. */
function placeOf(id: string, { agent: name }: PlanRecord, { asked, headers }: Asking) {
  return { id, name, asked, traceparent: headers.get("traceparent") };
}

/**
 * The decisions in a post on gates that a run waits for; undefined if there are none. Throws `conflict` if several runs
 * wait for a gate and the post names none, `approval_not_found` for a gate that is decided, and `bad_request` for
 * decisions on several things.
 */
function decidedGates(
  plans: PlanStore,
  { approvals = [], run: wanted }: TurnRequest,
): ({ readonly record: RunRecord } & Pick<RunDecisions, "decisions">) | undefined {
  // Runs and plans are large: one of each is in memory at a time.
  const open = Array.from(plans.openRuns(), (record) => {
    const { plan } = plans.get(record.plan) ?? {};
    const waitsFor = plan === undefined ? new Set<string>() : openGates(plan, record);
    return { id: record.id, waitsFor, decided: Object.keys(record.gates) };
  });
  const runs = approvals.map(({ approvalId: gate }) => {
    const waiting = open.filter(({ waitsFor }) => waitsFor.has(gate)).map(({ id }) => id);
    const isDecided = open.some(({ decided }) => decided.includes(gate));
    if (waiting.length === 0 && isDecided) throw nothingWaits();
    const [meant, ...others] = waiting.filter((id) => wanted === undefined || id === wanted);
    if (others.length === 0) return meant;
    const message = `Several runs wait for ${gate}: say which with {"run": …}, one of ${waiting.join(", ")}.`;
    throw new ByrefError("conflict", message);
  });
  const id = runs.find((one) => one !== undefined);
  const record = id === undefined ? undefined : plans.run(id)?.record;
  if (record === undefined) return undefined;
  if (approvals.some(({ input, patch }) => (input ?? patch) !== undefined)) {
    const message = "A gate of a plan takes no input: propose a plan with other parameters.";
    throw new ByrefError("bad_request", message);
  }
  if (runs.some((one) => one !== id)) {
    const message = "The decisions are for several runs: send one request for each.";
    throw new ByrefError("bad_request", message);
  }
  const decisions = approvals.map(({ approvalId, approved, reason }) => {
    return [approvalId, { approved, ...json.compact({ reason }) }] as const;
  });
  return { record, decisions };
}
