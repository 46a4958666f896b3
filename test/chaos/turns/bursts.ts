import { setTimeout as sleep } from "node:timers/promises";
import type { UIMessage } from "ai";
import type { Random } from "../random.ts";
import { post } from "./client.ts";
import { alternates, differences, openCallsIn } from "./checks.ts";
import { type Frame, framesOf, isTerminal, typeOf } from "./frames.ts";
import { questionOf, type Script, scriptFrom } from "./script.ts";
import type { Stage } from "./stage.ts";
import { markerOf } from "./talk.ts";
import { newTurn } from "./turn.ts";

interface BurstOptions extends Stage {
  readonly random: Random;
  /** True to kill the server while it answers. */
  readonly isKilled: boolean;
  /** Id of the conversation, and prefix of its turns' markers. */
  readonly name: string;
}

interface Posted {
  readonly script: Script;
  /** Undefined if the connection broke off first. */
  readonly status: number | undefined;
  readonly retryAfter: string | null;
  readonly frames: readonly Frame[];
  readonly isWhole: boolean;
}

const IDENTICAL = 100;
const DIFFERENT = 50;
/** One running turn and a full queue. */
const ACCEPTED = 9;
const IDLE_WITHIN_MS = 60_000;

/**
 * Posts the same message 100 times at once, and again after a kill. There must be one question and one
 * answer.
 */
export async function postIdentical(options: BurstOptions): Promise<void> {
  const { world, findings, random, name, isKilled } = options;
  const blame = (what: string) => findings.blame("R6", `${name}: ${what}`);
  const script = scriptFrom(random, `${name}x`, { shape: "sequence" });
  world.play(script);
  const scripts = Array.from({ length: IDENTICAL }, () => script);
  const first = postAll(options, scripts);
  const all = isKilled ? [...(await killed(options, first))] : [...(await first)];
  if (isKilled) all.push(...(await postAll(options, scripts)));
  const messages = await messagesWhenIdle(options);
  const roles = messages.map(({ role }) => role).join(", ");
  if (roles !== "user, assistant") blame(`the history is ${roles}`);
  for (const { status, isWhole, frames } of all) {
    if (status === undefined || (!isWhole && isKilled)) continue;
    if (status !== 200) blame(`a post is answered ${status}`);
    else if (!isWhole) blame(`a post's stream ends with ${frames.at(-1)?.data}`);
  }
  const calls = world.ledger.of(script.marker).filter(({ kind }) => kind === "model");
  const steps = calls.flatMap((entry) => (entry.kind === "model" ? [entry.step] : []));
  const most = Math.max(...script.steps.map((_, step) => steps.filter((at) => at === step).length));
  // The model call that the kill cut off must be repeated.
  if (most > (isKilled ? 2 : 1)) blame(`a step of the model ran ${most} times`);
  findings.count("bursts of identical posts");
}

/**
 * Posts 50 different messages at once. Those that fit the queue are answered in order; the others get 429.
 */
export async function postDifferent(options: BurstOptions): Promise<void> {
  const { world, findings, random, name, isKilled, references } = options;
  const blame = (what: string) => findings.blame("R19", `${name}: ${what}`);
  const scripts = Array.from({ length: DIFFERENT }, (_, index) =>
    scriptFrom(random, `${name}n${index}x`, {
      shape: random.one(["charge", "parallel"]),
      toolMs: 5,
    }),
  );
  for (const script of scripts) world.play(script);
  const posting = postAll(options, scripts);
  const all = await (isKilled ? killed(options, posting) : posting);
  const messages = await messagesWhenIdle(options);
  if (!alternates(messages)) {
    blame(`the order is ${messages.map(({ role }) => role).join(", ")}`);
  }
  for (const call of messages.flatMap(({ parts }) => openCallsIn(parts))) {
    findings.blame("calls", `${name}: ${call}`);
  }
  const accepted = all.filter(({ status }) => status === 200).length;
  if (!isKilled && accepted !== ACCEPTED) blame(`${accepted} were accepted`);
  for (const { script, status, retryAfter, frames, isWhole } of all) {
    if (status === 429 && retryAfter === null) blame("429 without Retry-After");
    if (status !== undefined && status !== 200 && status !== 429)
      blame(`a post is answered ${status}`);
    if (status === 200 && !isWhole && !isKilled) blame(`a stream ends with ${frames.at(-1)?.data}`);
    if (frames.length === 0) continue;
    const at = messages.findIndex((message) => markerOf(message) === script.marker);
    if (at < 0) blame(`${script.marker} was accepted, and is gone`);
    else {
      const turn = { ...newTurn(name, script), kills: isKilled ? 1 : 0 };
      const parts = messages[at + 1]?.parts ?? [];
      const different = differences(parts, references.get(script.shape) ?? [], turn);
      for (const what of different) blame(`${script.marker}: ${what}`);
    }
  }
  findings.count("bursts of different posts");
}

async function killed(
  { killer, server, random }: BurstOptions,
  posting: Promise<readonly Posted[]>,
): Promise<readonly Posted[]> {
  await killer.atSomeMoment(random, posting);
  await server.start();
  server.openGate();
  return posting;
}

async function postAll(
  { server, name }: BurstOptions,
  scripts: readonly Script[],
): Promise<readonly Posted[]> {
  const url = `${await server.gate.url()}/conversations/${name}/messages`;
  return Promise.all(scripts.map((script) => postOne(url, script)));
}

async function postOne(url: string, script: Script): Promise<Posted> {
  const frames: Frame[] = [];
  let status: number | undefined;
  let retryAfter: string | null = null;
  let isWhole = false;
  try {
    const response = await post(url, { message: questionOf(script) });
    status = response.status;
    retryAfter = response.headers.get("retry-after");
    if (status !== 200 || response.body === null) await response.text();
    else {
      for await (const frame of framesOf(response.body)) {
        if (frame.data === "[DONE]") isWhole = isTerminal(frames.findLast(isNoMetadata));
        else frames.push(frame);
      }
    }
  } catch {
    // The server was killed.
  }
  return { script, status, retryAfter, frames, isWhole };
}

function isNoMetadata(frame: Frame): boolean {
  return typeOf(frame) !== "message-metadata";
}

async function messagesWhenIdle({
  server,
  name,
  findings,
}: BurstOptions): Promise<readonly UIMessage[]> {
  const url = `${await server.gate.url()}/conversations/${name}`;
  const giveUpMs = performance.now() + IDLE_WITHIN_MS;
  for (;;) {
    const { status } = (await (await fetch(url)).json()) as { status: unknown };
    if (status === "idle" || status === 404) break;
    if (performance.now() > giveUpMs) {
      findings.blame("R7", `${name} stays ${String(status)}`);
      break;
    }
    await sleep(30);
  }
  const response = await fetch(`${url}/messages?limit=200`);
  return ((await response.json()) as { messages?: readonly UIMessage[] }).messages ?? [];
}
