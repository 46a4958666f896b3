import type { UIMessage } from "ai";
import {
  alternates,
  checkLedger,
  checkPromises,
  clip,
  differences,
  endedParts,
  openCallsIn,
  plainParts,
  unknownsIn,
} from "./checks.ts";
import { BESIDE } from "../writers.ts";
import type { Findings } from "./findings.ts";
import { foldFrames, type Frame, framesOf } from "./frames.ts";
import type { Ledger } from "./ledger.ts";
import { markerIn } from "./script.ts";
import type { Turn } from "./turn.ts";

interface TalkOptions {
  readonly ledger: Ledger;
  readonly findings: Findings;
  /** The parts of an undisturbed turn, by shape. */
  readonly references: ReadonlyMap<string, readonly string[]>;
}

type Metadata = { readonly error?: string; readonly stopped?: boolean } | undefined;

/** A conversation and what it has promised so far. */
export class Talk {
  readonly id: string;
  readonly turns: Turn[] = [];
  readonly #options: TalkOptions;
  /** Messages by id, as they were when their turn was settled. */
  readonly #settled = new Map<string, string>();

  constructor(id: string, options: TalkOptions) {
    this.id = id;
    this.#options = options;
  }

  /** Compares an idle conversation with what was promised. */
  async check(url: string): Promise<void> {
    const conversation = `${url}/conversations/${this.id}`;
    const messages = await this.#messages(conversation);
    const turn = this.turns.at(-1);
    if (turn === undefined) return;
    for (const { id, ...rest } of messages) {
      const text = JSON.stringify(rest);
      const was = this.#settled.get(id);
      if (was !== undefined && was !== text) this.#blame("R2", `${this.id}: ${id} has changed`);
    }
    for (const id of this.#settled.keys()) {
      if (!messages.some((message) => message.id === id)) this.#blame("R1", `${id} is gone`);
    }
    for (const { id, ...rest } of messages) this.#settled.set(id, JSON.stringify(rest));
    this.#checkOrder(messages);
    const message = this.#answerOf(messages, turn);
    checkLedger(turn, this.#options.ledger.of(turn.script.marker), this.#blame);
    if (message !== undefined) {
      this.#checkAnswer(turn, message);
      await this.#checkReplay(conversation, turn, message);
    }
    await this.#checkVariables(conversation, messages);
  }

  readonly #blame = (row: string, what: string): void => this.#options.findings.blame(row, what);

  async #messages(conversation: string): Promise<readonly UIMessage[]> {
    const response = await fetch(`${conversation}/messages?limit=200`);
    if (response.status === 404) return [];
    return ((await response.json()) as { messages: readonly UIMessage[] }).messages;
  }

  /** Checks that questions and answers alternate and that each question is there once. */
  #checkOrder(messages: readonly UIMessage[]): void {
    const asked = messages.filter(({ role }) => role === "user").map(markerOf);
    if (new Set(asked).size < asked.length) {
      this.#blame("R6", `${this.id}: a question stands there twice: ${asked.join(", ")}`);
    }
    if (!alternates(messages)) {
      const roles = messages.map(({ role }) => role);
      this.#blame("R19", `${this.id}: the order is ${roles.join(", ")}`);
    }
    for (const { id, parts } of messages) {
      for (const call of openCallsIn(parts)) this.#blame("calls", `${this.id}: ${call} in ${id}`);
    }
    for (const { script, isAcknowledged } of this.turns) {
      if (isAcknowledged && !asked.includes(script.marker)) {
        this.#blame("R1", `${this.id}: the question of ${script.marker} was accepted, and is gone`);
      }
    }
  }

  #answerOf(messages: readonly UIMessage[], turn: Turn): UIMessage | undefined {
    const { marker } = turn.script;
    const at = messages.findIndex((message) => markerOf(message) === marker);
    if (at < 0) return undefined;
    const answer = messages[at + 1];
    if (answer?.role === "assistant") return answer;
    this.#blame("R7", `${marker}: there is no answer`);
    return undefined;
  }

  #checkAnswer(turn: Turn, message: UIMessage): void {
    const { references } = this.#options;
    const { script } = turn;
    // Written by the runtime.
    const { error, stopped } = (message.metadata as Metadata) ?? {};
    turn.outcome = stopped === true ? "stopped" : error === undefined ? "finished" : "closed";
    checkPromises(turn, message, this.#blame);
    this.#checkUnknowns(turn, message);
    if (turn.outcome !== "finished") return this.#checkEnd(turn, error);
    if (turn.stoppedMs !== undefined)
      this.#blame("stop", `${script.marker} was stopped, and went on`);
    const expected = references.get(script.shape) ?? [];
    for (const what of differences(message.parts, expected, turn)) {
      this.#blame("R9", `${script.marker} (${script.shape}): ${what}`);
    }
    for (const { who, message: shown } of turn.answers) {
      const saw = plainParts(shown?.parts ?? [], script);
      const kept = plainParts(message.parts, script);
      const at = kept.findIndex((part, index) => part !== saw[index]);
      if (at < 0 && saw.length === kept.length) continue;
      const what = `part ${at} of ${saw.length} is ${clip(saw[at])}, kept ${clip(kept[at])}`;
      this.#blame("R9", `${script.marker}: ${who} saw it finish, and ${what}`);
    }
  }

  /**
   * Checks that every call in a kill's window is reported as unknown, and that none is without a kill or
   * stop.
   */
  #checkUnknowns(turn: Turn, message: UIMessage): void {
    const { findings, ledger } = this.#options;
    const { marker } = turn.script;
    const { inWindow, unknown, invented } = unknownsIn(turn, message, ledger.of(marker));
    for (const id of invented) this.#blame("R4", `${marker}: ${id} has a result from nowhere`);
    if (turn.kills === 0 && turn.outcome !== "stopped" && unknown.length > 0)
      this.#blame("R4", `${marker}: no kill, and unknown`);
    findings.count("calls in a window", inWindow.length);
    for (const id of inWindow) {
      if (unknown.includes(id)) findings.count("calls in a window, unknown");
      else this.#blame("R4", `${marker}: ${id} began, and is not said to be unknown`);
    }
  }

  /** Checks a turn that was stopped or closed. */
  #checkEnd(turn: Turn, error: string | undefined): void {
    const { script, stoppedMs, kills, outcome } = turn;
    if (outcome === "stopped" && !turn.isStopAsked) {
      this.#blame("R7", `${script.marker}: nobody stopped it`);
    }
    if (outcome === "stopped" && stoppedMs !== undefined) {
      const late = this.#options.ledger
        .of(script.marker)
        .filter(
          ({ kind, atMs }) => (kind === "model" || kind === "start") && atMs > stoppedMs + 30,
        );
      if (late.length > 0) this.#blame("stop", `${script.marker}: goes on after its stop`);
    }
    if (outcome === "stopped" || kills > 5) return;
    const faults = [...script.faults.values()].flat();
    // An answer that breaks the protocol fails the turn and is not retried.
    if (faults.includes("garbled") && error === "model_failed") return;
    const row = faults.length > 0 ? "R11" : "R7";
    this.#blame(row, `${script.marker} (${script.shape}, ${kills} kills): ${error}`);
  }

  /** Checks that a full replay of the stream gives the message in the history. */
  async #checkReplay(conversation: string, turn: Turn, message: UIMessage): Promise<void> {
    const response = await fetch(`${conversation}/stream?after=0`);
    if (response.status !== 200 || response.body === null) {
      this.#blame("R2", `${turn.script.marker}: after=0 answers ${response.status}`);
      return;
    }
    const frames: Frame[] = [];
    for await (const frame of framesOf(response.body)) frames.push(frame);
    const { message: replayed, errors } = await foldFrames(frames);
    for (const error of errors) this.#blame("R2", `${turn.script.marker}, replayed: ${error}`);
    const [is, was] = [replayed, message].map((one) =>
      plainParts(endedParts(one?.parts ?? []), turn.script),
    );
    if (is === undefined || was === undefined) return;
    const at = was.findIndex((part, index) => part !== is[index]);
    if (at < 0 && is.length === was.length) return;
    const what = `part ${at} of ${is.length} is ${clip(is[at])}, kept ${clip(was[at])}`;
    this.#blame("R2", `${turn.script.marker}, replayed: ${what}`);
  }

  /** Checks that every result has its variable and every variable its result. */
  async #checkVariables(conversation: string, messages: readonly UIMessage[]): Promise<void> {
    const response = await fetch(`${conversation}/variables?last=1000`);
    const { variables } = (await response.json()) as { variables: readonly { name: string }[] };
    const named = new Set(
      messages.flatMap(({ parts }) =>
        Array.from(JSON.stringify(parts).matchAll(/"\$var":"(\w+)"/g), ([, name]) => name ?? ""),
      ),
    );
    const known = new Set(variables.flatMap(({ name }) => (name.startsWith(BESIDE) ? [] : [name])));
    const without = [...known, ...named].filter((name) => !known.has(name) || !named.has(name));
    if (without.length > 0)
      this.#blame("variables", `${this.id}: ${without.join(", ")} not in both`);
  }
}

function markerOf(message: UIMessage): string | undefined {
  return message.role === "user" ? markerIn(JSON.stringify(message.parts)) : undefined;
}
