import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { readMessage } from "../../support/turn.ts";
import { Random } from "../random.ts";
import { bundleWorker, type ChaosWorker, startWorker } from "../worker.ts";
import { callId, markerIn, PLAN, questionOf, type Shape, SHAPES, TOOLS } from "./script.ts";
import { type Entry, World } from "./world.ts";

/** What is checked, by the rows of docs/chaos.md. */
export const PROMISES = {
  R1: "accepted user messages lost, or kept twice",
  R2: "frame ids used twice; replayed streams that are not the message",
  R3: "tools run again although the model was given their result",
  R4: "once-only tools run twice; calls cut off that are not reported as outcome_unknown",
  R5: "idempotent calls with more than one key",
  R7: "turns that stay open, fail, or have other parts than an undisturbed one",
  R8: "turns that were not resumed while no client asked",
  R19: "questions and answers that do not alternate",
  variables: "results without their variable, variables without their result",
  plans: "runs of plans that do not end, or not as an undisturbed one",
} as const;

export interface Findings {
  kills: number;
  turns: number;
  /** From the open port to the first sign of each resumed turn. */
  readonly resumedMs: number[];
  readonly wrong: { readonly row: keyof typeof PROMISES; readonly what: string }[];
}

interface Turn {
  readonly conversation: string;
  readonly marker: string;
  shape: Shape;
  /** Data of the received frames, by id. */
  readonly frames: Map<number, string>;
  kills: number;
  isOver: boolean;
}

interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** A fresh folder. */
  readonly stateDir: string;
  readonly onProgress?: (findings: Findings) => void;
}

const RESUMED_WITHIN_MS = 4_000;
const SETTLED_WITHIN_MS = 30_000;
const MAX_KILLS_OF_A_TURN = 3;
const MAX_WRONG = 10;
/** A page of history has 200 messages. */
const TURNS_OF_A_CONVERSATION = 90;

/** Kills a server in the middle of turns, and compares their outcome with what was promised. */
export async function runTurnsChaos(options: ChaosOptions): Promise<Findings> {
  const chaos = new TurnsChaos(options);
  try {
    return await chaos.run();
  } finally {
    await chaos.end();
  }
}

class TurnsChaos {
  readonly #options: ChaosOptions;
  readonly #findings: Findings = { kills: 0, turns: 0, resumedMs: [], wrong: [] };
  readonly #world = new World();
  readonly #random: Random;
  #bundle = "";
  #worker: ChaosWorker | undefined;
  /** Resolves to the server's URL when clients may reach it. */
  #gate = Promise.withResolvers<string>();

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async run(): Promise<Findings> {
    const { kills, stateDir, onProgress } = this.#options;
    const { modelUrl, toolsUrl } = await this.#world.start();
    const bindings = {
      AUTH: "none",
      MODEL: "openai-compatible:scripted",
      MODEL_BASE_URL: modelUrl,
      MODEL_API_KEY: "sk-chaos",
      WORLD_URL: toolsUrl,
    };
    const config = "test/chaos/turns/wrangler.toml";
    this.#bundle = await bundleWorker(stateDir, { config, bindings });
    await this.#start();
    this.#gate.resolve(this.#worker?.url ?? "");
    const findings = this.#findings;
    while (findings.kills < kills && findings.wrong.length < MAX_WRONG) {
      await this.#playRound();
      onProgress?.(findings);
    }
    return findings;
  }

  async end(): Promise<void> {
    await this.#worker?.kill();
    await this.#world.stop();
  }

  #blame(row: keyof typeof PROMISES, what: string): void {
    this.#findings.wrong.push({ row, what });
  }

  async #start(): Promise<void> {
    this.#worker = await startWorker(this.#options.stateDir, this.#bundle);
  }

  /**
   * Runs three turns at once, one of them after those of earlier rounds and sometimes one as a plan, and kills the
   * server up to three times.
   */
  async #playRound(): Promise<void> {
    const round = this.#findings.turns;
    const same = `same${Math.floor(round / 3 / TURNS_OF_A_CONVERSATION)}`;
    const turns = [same, `c${round}-1`, `c${round}-2`].map((name) => this.#begin(name));
    const last = turns.at(-1);
    if (last !== undefined && this.#random.chance(0.4)) last.shape = PLAN;
    const asking = Promise.all(
      turns.map((turn) => (turn.shape === PLAN ? this.#runPlan(turn) : this.#ask(turn))),
    );
    const kills = this.#random.weighted({ "1": 6, "2": 2, "3": 2 });
    for (let kill = 1; kill <= Number(kills); kill++) {
      await this.#untilKill(kill === 1);
      for (const turn of turns) if (!turn.isOver) turn.kills++;
      const open = openTurns(this.#options.stateDir);
      const before = performance.now();
      await this.#start();
      if (kill === Number(kills)) await this.#awaitResumed(turns, open, before);
    }
    this.#gate.resolve(this.#worker?.url ?? "");
    const late = sleep(SETTLED_WITHIN_MS, "late" as const, { ref: false });
    if ((await Promise.race([asking, late])) === "late") {
      const open = turns.filter(({ isOver }) => !isOver).map(({ marker }) => marker);
      this.#blame("R7", `${open.join(", ")} not answered within ${SETTLED_WITHIN_MS} ms`);
      for (const turn of turns) turn.isOver = true;
    }
    for (const turn of turns)
      await (turn.shape === PLAN ? this.#checkPlan(turn) : this.#check(turn));
  }

  #begin(conversation: string): Turn {
    const marker = `t${++this.#findings.turns}`;
    const shape = this.#world.play(marker, this.#random.between(0, SHAPES.length - 1));
    return { conversation, marker, shape, frames: new Map(), kills: 0, isOver: false };
  }

  /** Kills the server up to 25 ms after something happened in the world, or at a random time. */
  async #untilKill(isFirst: boolean): Promise<void> {
    let left = this.#random.between(1, 6);
    const happened = new Promise<void>((resolve) => {
      this.#world.onEntry = () => void (--left === 0 && resolve());
    });
    const time = sleep(this.#random.between(0, isFirst ? 800 : 350));
    await (this.#random.chance(0.7) && isFirst ? Promise.race([happened, sleep(800)]) : time);
    if (this.#random.chance(0.5)) await sleep(this.#random.between(0, 25));
    this.#world.onEntry = () => undefined;
    // Who waits at a closed gate keeps waiting at it.
    if (isFirst) this.#gate = Promise.withResolvers();
    this.#findings.kills++;
    await this.#worker?.kill();
  }

  /** Waits until each open turn has called the model or a tool, or has ended. No client sends a request meanwhile. */
  async #awaitResumed(turns: readonly Turn[], open: readonly string[], sinceMs: number) {
    const { ledger } = this.#world;
    const openMs = sinceMs + (this.#worker?.startMs ?? 0);
    const markers = new Set(open);
    while (markers.size > 0 && performance.now() < openMs + RESUMED_WITHIN_MS) {
      await sleep(10);
      for (const { marker, atMs } of ledger) {
        if (atMs < sinceMs || !markers.delete(marker)) continue;
        this.#findings.resumedMs.push(Math.max(atMs - openMs, 0));
      }
    }
    for (const marker of markers) {
      // A turn that only had to be closed calls no model and no tool. One that is asleep does not answer at once.
      const conversation = turns.find((turn) => turn.marker === marker)?.conversation;
      const url = `${this.#worker?.url}/conversations/${conversation}/messages?limit=1`;
      const { messages } = await jsonAt<{ messages: UIMessage[] }>(url);
      if (messages[0]?.role !== "assistant") this.#blame("R8", marker);
    }
  }

  /** Posts the turn's question, approves its calls, and returns to the stream whenever it is cut. */
  async #ask(turn: Turn): Promise<void> {
    const { marker } = turn;
    let path = "messages";
    let body: object | undefined = { message: questionOf(marker) };
    while (!turn.isOver) {
      const url = `${await this.#gate.promise}/conversations/${turn.conversation}`;
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const headers = { accept: "text/event-stream", "content-type": "application/json" };
      const isWhole = await fetch(`${url}/${path}`, { ...init, headers })
        .then((response) => this.#read(response, turn))
        .catch(() => false);
      const { message } = await readMessage(chunksIn(turn));
      const waiting = message?.parts
        .filter(isToolUIPart)
        .find((one) => one.state === "approval-requested");
      if (!isWhole) {
        const last = Math.max(0, ...turn.frames.keys());
        // What was not answered at all may not have been accepted.
        if (turn.frames.size > 0 || body === undefined)
          [path, body] = [`stream?after=${last}`, undefined];
      } else if (waiting === undefined) turn.isOver = true;
      else [path, body] = [`approvals/${waiting.approval?.id}`, { approved: true }];
    }
  }

  /** Proposes, approves and runs a plan, and does each again that was cut off and did not happen. */
  async #runPlan(turn: Turn): Promise<void> {
    const { conversation, marker } = turn;
    const calls = callsOf(turn).map(({ name, id }) => {
      return { _tool: name, _id: id, turn: marker, call: id, _outputPath: `†state.${id}` };
    });
    while (!turn.isOver) {
      const url = `${await this.#gate.promise}/conversations/${conversation}/plans`;
      turn.isOver = await advancePlan(url, calls).catch(() => false);
      if (!turn.isOver) await sleep(30);
    }
  }

  async #checkPlan(turn: Turn): Promise<void> {
    const { conversation, marker } = turn;
    const url = `${await this.#gate.promise}/conversations/${conversation}/plans`;
    const { plans } = await jsonAt<{ plans: { id: string }[] }>(url);
    const runs = (await jsonAt<PlanView>(`${url}/${plans[0]?.id}`)).runs;
    const outputs = runs.map(({ status, calls }) =>
      [status, ...calls.map((call) => JSON.stringify(call.output ?? call))].join(),
    );
    const wanted = callsOf(turn).map(({ name }) => JSON.stringify({ said: `${name} did` }));
    const expected = ["done", ...wanted].join();
    if (plans.length !== 1 || outputs.join(";") !== expected)
      this.#blame("plans", `${marker}: ${plans.length} plans, ${outputs.join("; ")}`);
    const entries = this.#world.entriesOf(marker);
    for (const { id } of callsOf(turn)) {
      const keys = new Set(
        entries.flatMap((one) => (one.kind === "start" && one.ids[0] === id ? [one.key] : [])),
      );
      if (keys.size !== 1 || keys.has("")) this.#blame("R5", `${id}: ${[...keys].join()}`);
    }
  }

  /** Reads frames until the stream ends. Returns true if it ended with [DONE], or if nothing runs. */
  async #read(response: Response, { frames, marker }: Turn): Promise<boolean> {
    if (response.status === 204) return true;
    if (response.status !== 200 || response.body === null) return sleep(30, false);
    let text = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const [, id, data = ""] = /^(?:id: (\d+)\n)?data: (.*)$/m.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (data === "[DONE]") return true;
        if (id === undefined) continue;
        const known = frames.get(Number(id));
        if (known !== undefined && known !== data) this.#blame("R2", `${marker}: ${id} twice`);
        frames.set(Number(id), data);
      }
    }
    return false;
  }

  async #check(turn: Turn): Promise<void> {
    const { conversation, marker } = turn;
    const url = `${await this.#gate.promise}/conversations/${conversation}`;
    const { messages } = await jsonAt<{ messages: UIMessage[] }>(`${url}/messages?limit=200`);
    const asked = messages.filter(({ role }) => role === "user").map(textOf);
    const times = asked.filter((text) => markerIn(text) === marker).length;
    if (times !== 1) this.#blame("R1", `${marker} is there ${times} times`);
    if (!messages.every(({ role }, at) => role === (at % 2 === 0 ? "user" : "assistant")))
      this.#blame("R19", `${marker}: ${messages.map(({ role }) => role).join()}`);
    const at = messages.findIndex((one) => one.role === "user" && markerIn(textOf(one)) === marker);
    const answer = messages[at + 1];
    if (answer === undefined) return this.#blame("R7", `${marker} has no answer`);
    this.#checkCalls(turn, answer);
    if (at + 2 === messages.length) {
      const replay: Turn = { ...turn, frames: new Map() };
      await this.#read(await fetch(`${url}/stream?after=0`), replay);
      const { message, errors } = await readMessage(chunksIn(replay));
      if (errors.length > 0 || plain(message) !== plain(answer))
        this.#blame("R2", `${marker} replayed: ${errors.join()} ${plain(message)}`);
    }
    const { variables } = await jsonAt<{ variables: { name: string }[] }>(
      `${url}/variables?last=1000`,
    );
    // A long conversation has its old turns as `$history`, which no call made.
    const names = variables.map(({ name }) => name).filter((name) => name !== "history");
    const known = new Set(names);
    const shown = new Set(
      Array.from(JSON.stringify(messages).matchAll(/"\$var":"(\w+)"/g), ([, name = ""]) => name),
    );
    const odd = [...known, ...shown].filter((name) => !known.has(name) || !shown.has(name));
    if (odd.length > 0) this.#blame("variables", `${marker}: ${odd.join()}`);
  }

  #checkCalls({ marker, shape, kills }: Turn, answer: UIMessage): void {
    const entries = this.#world.entriesOf(marker);
    const given = new Set<string>();
    for (const { kind, ids } of entries) {
      if (kind === "model") for (const id of ids) given.add(id);
      if (kind === "start" && given.has(ids[0] ?? "")) this.#blame("R3", `${ids[0]} runs again`);
    }
    const parts = answer.parts.filter(isToolUIPart);
    const planned = callsOf({ marker, shape });
    for (const [index, { name, id }] of planned.entries()) {
      const part = parts[index];
      const starts = entries.filter((one) => one.kind === "start" && one.ids[0] === id);
      const isDone = part?.state === "output-available";
      const isUnknown = part?.errorText?.startsWith("outcome_unknown") === true;
      // A kill may come before the request of a call that the server has noted as begun.
      const mayBe = TOOLS[name].effects === "once" && kills > 0;
      if (part === undefined || getToolName(part) !== name || !(isDone || (isUnknown && mayBe)))
        this.#blame(mayBe ? "R4" : "R7", `${id}: ${part?.state} ${part?.errorText}`);
      if (isDone && !entries.some((one) => one.kind === "effect" && one.ids[0] === id))
        this.#blame("R4", `${id} has a result from nowhere`);
      if (TOOLS[name].effects === "once" && starts.length > 1) this.#blame("R4", `${id} ran twice`);
      const keys = new Set(starts.map(({ key }: Entry) => key));
      if (keys.size > 1 || keys.has("")) this.#blame("R5", `${id}: ${[...keys].join()}`);
    }
    const isClosed =
      kills >= MAX_KILLS_OF_A_TURN && JSON.stringify(answer.metadata).includes("turn_failed");
    if (!isClosed && (parts.length !== planned.length || textOf(answer) !== shape.shown))
      this.#blame("R7", `${marker}: ${plain(answer)}`);
  }
}

interface PlanView {
  readonly runs: readonly { status: string; calls: readonly { output?: unknown }[] }[];
}

function callsOf({ marker, shape }: Pick<Turn, "marker" | "shape">) {
  return shape.steps.flatMap((names, step) =>
    names.map((name, index) => ({ name, id: callId(marker, step, index) })),
  );
}

/** Takes the next steps of a conversation's one plan. Returns true if its run has ended. */
async function advancePlan(url: string, calls: readonly object[]): Promise<boolean> {
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  let [plan] = (await jsonAt<{ plans: { id: string; status: string }[] }>(url)).plans;
  if (plan === undefined) {
    const proposed = await fetch(`${url}?agent=worker`, {
      ...init,
      body: JSON.stringify({ calls }),
    });
    plan = (await proposed.json()) as { id: string; status: string };
  }
  if (plan.status === "proposed") await fetch(`${url}/${plan.id}/approve`, init);
  const { runs } = await jsonAt<PlanView>(`${url}/${plan.id}`);
  if (runs.length === 0)
    await (await fetch(`${url}/${plan.id}/run`, { ...init, body: "{}" })).text();
  return runs.length > 0 && !["running", "waiting"].includes(runs[0]?.status ?? "");
}

/** Returns the markers of the turns that have not ended and wait for nobody, on the disk of a server. */
function openTurns(stateDir: string): readonly string[] {
  const folder = join(stateDir, "v3/do/byref-Conversation");
  const files = readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  return files.flatMap((name) => {
    const path = join(folder, name);
    // Rolls back what a kill has left in a journal, as the next server would, and changes nothing else.
    const readOnly = !existsSync(`${path}-journal`);
    const database = new DatabaseSync(path, { readOnly, timeout: 10_000 });
    try {
      const tables = database.prepare(
        "SELECT name FROM sqlite_master WHERE name IN ('turn', 'message')",
      );
      if (tables.all().length < 2) return [];
      const head = String(
        database.prepare("SELECT head FROM turn WHERE part = 0").get()?.head ?? "{}",
      );
      const asked = database.prepare(
        "SELECT body FROM message WHERE role = 'user' ORDER BY seq DESC LIMIT 1",
      );
      const marker = markerIn(String(asked.get()?.body));
      return JSON.parse(head).isOpen === true && marker !== undefined ? [marker] : [];
    } finally {
      database.close();
    }
  });
}

function chunksIn({ frames }: Turn): readonly UIMessageChunk[] {
  const sorted = [...frames].sort(([one], [other]) => one - other);
  return sorted.map(([, data]) => JSON.parse(data) as UIMessageChunk);
}

function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? part.text : [])).join("");
}

/** Leaves out what only the stream or only the history has. */
function plain(message: UIMessage | undefined): string {
  const parts = message?.parts.filter(
    (part) => !("state" in part) || part.state !== "input-streaming",
  );
  return JSON.stringify(
    parts?.map((part) => {
      if (part.type === "text") return part.text;
      if (!isToolUIPart(part)) return part.type;
      return [part.type, part.state, part.toolCallId, part.input, part.output, part.errorText];
    }),
  );
}

async function jsonAt<Document>(url: string): Promise<Document> {
  // Written by the runtime.
  return (await (await fetch(url)).json()) as Document;
}
