import { setTimeout as sleep } from "node:timers/promises";
import { openOn, readTurns } from "./disk.ts";
import { tellEntry } from "./ledger.ts";
import { Resumption } from "./resumption.ts";
import type { Stage } from "./stage.ts";
import type { Talk } from "./talk.ts";
import type { Turn } from "./turn.ts";

interface Settling {
  /** Resolves when the turns' clients are done. */
  readonly over: Promise<unknown>;
  readonly withinMs: number;
  readonly talkOf: (turn: Turn) => Talk | undefined;
}

/**
 * Restarts the server. After the last kill, clients wait until the interrupted turns have had time to resume
 * by themselves.
 */
export async function restart(
  { server, world, findings }: Stage,
  turns: readonly Turn[],
  isLast: boolean,
): Promise<void> {
  const { stateDir } = server;
  const objects = readTurns(stateDir);
  const kept = new Set(objects.flatMap(({ questions }) => [...questions]));
  for (const { script, isAcknowledged } of turns) {
    if (isAcknowledged && !kept.has(script.marker)) {
      findings.blame("R1", `${script.marker} was accepted, and is not on the disk`);
    }
  }
  const open = new Set(openOn(objects));
  const running = new Map(turns.map((turn) => [turn.conversation, turn.script.marker]));
  for (const conversation of open) {
    if (!running.has(conversation)) findings.blame("R7", `${conversation} is still open`);
  }
  const waiting = new Map([...running].filter(([conversation]) => open.has(conversation)));
  const kill = findings.kills;
  const isCurrent = () => findings.kills === kill;
  if (!isLast) return server.start();
  const resumption = new Resumption(stateDir, world.ledger, { waiting, isCurrent });
  await server.start();
  const { firstMs, asleep } = await resumption.result();
  const { startedMs, listensMs } = server.times;
  const isEarly = turns.every(({ kills }) => kills <= 3);
  for (const ms of firstMs) {
    if (!isEarly) continue;
    findings.resumedMs.push(Math.max(ms - listensMs, 0));
    findings.sinceStartMs.push(ms - startedMs);
  }
  for (const conversation of asleep) {
    if (isEarly)
      findings.blame("R8", `${conversation} (${running.get(conversation)}) did not wake`);
  }
  server.openGate();
}

/** Waits until the turns are over and compares their outcome with what was promised. */
export async function settle(
  stage: Stage,
  turns: readonly Turn[],
  { over, withinMs, talkOf }: Settling,
): Promise<void> {
  const { server, findings } = stage;
  const giveUpMs = performance.now() + withinMs;
  if (!(await isOverWithin(withinMs, over))) {
    const stuck = turns.filter((turn) => !turn.isOver).map(({ script }) => script.marker);
    findings.blame("R7", `${stuck.join(", ")} not answered within ${withinMs} ms`);
    for (const turn of turns) turn.isOver = true;
  }
  const url = await server.gate.url();
  for (const turn of turns) {
    const talk = talkOf(turn);
    const before = findings.wrong.length;
    await untilIdle(stage, turn, Math.max(giveUpMs, performance.now() + 5_000));
    await talk?.check(url);
    if (findings.wrong.length > before) describe(stage, turn);
  }
}

function isOverWithin(withinMs: number, over: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), withinMs);
  void over.then(() => resolve(true));
  return promise.finally(() => clearTimeout(timer));
}

async function untilIdle({ server, findings }: Stage, turn: Turn, giveUpMs: number): Promise<void> {
  const url = await server.gate.url();
  for (;;) {
    const response = await fetch(`${url}/conversations/${turn.conversation}`);
    const { status } = (await response.json()) as { status?: string | number };
    // A turn that was never accepted may have left no conversation.
    if (status === "idle" || response.status === 404) return;
    if (performance.now() > giveUpMs) {
      findings.blame("R7", `${turn.script.marker} stays ${status}`);
      return;
    }
    await sleep(30);
  }
}

function describe({ world, findings }: Stage, { script, log }: Turn): void {
  const entries = world.ledger.of(script.marker).map(tellEntry);
  const lines = [...log, ...entries].toSorted((one, other) => parseInt(one) - parseInt(other));
  findings.stories.push(`${script.marker} (${script.shape})\n  ${lines.join("\n  ")}`);
}
