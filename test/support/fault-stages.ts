import { tool } from "ai";
import { vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import * as limits from "../../src/limits.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { json } from "./edge.ts";
import { never, status } from "./fault-steps.ts";
import type { OwnRuntime } from "./own-runtime.ts";
import { finish, type Script, scriptedModel, type Step, text, toolCall } from "byref/testing";

/** A point in a turn at which a test causes an event. */
interface Stage {
  readonly options: RuntimeOptions;
  readonly model: ReturnType<typeof scriptedModel>;
  /** Starts a turn, and resolves when it has reached the point. */
  readonly reach: (own: OwnRuntime) => Promise<Response>;
  /** Lets the turn continue. */
  readonly release: () => void;
}

export const said: Script = [text("Hello."), finish()];
const asked = finish("tool-calls");

/** A gate: `wait` resolves `reached`, then waits until `open` is called. */
export function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const wait = () => {
    reached.resolve();
    return opened.promise;
  };
  return { reached: reached.promise, open: () => opened.resolve(), wait };
}

export function ask(
  own: OwnRuntime,
  message: string,
  accept = "text/event-stream",
): Promise<Response> {
  return own.call("POST", "/conversations/c/messages", json({ message }, { accept }));
}

/** Streams `first`, waits, and streams `rest`. */
export function halting(wait: () => Promise<void>, first: Script, rest: Script): Step {
  return async function* () {
    yield* first;
    await wait();
    yield* rest;
  };
}

/** A turn that reaches its gate through these steps; the model then says hello. */
function staged(stepsTo: (wait: () => Promise<void>) => readonly Step[]): Stage {
  const { reached, open, wait } = gate();
  const inputSchema = z.object({});
  const act = tool({ inputSchema, execute: () => 1 });
  const hold = tool({ inputSchema, execute: () => wait() });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { act, hold } };
  const model = scriptedModel([...stepsTo(wait), said, said, said]);
  const reach = async (own: OwnRuntime) => {
    const response = await ask(own, "Go.");
    await reached;
    return response;
  };
  return { options: { agents: [agent], model }, model, reach, release: open };
}

/** A turn that waits for a retry after a failed call. The wait ends only when it is released. */
function inRetry(): Stage {
  const failing = status(429, { "retry-after": String(limits.modelSilenceMs / 1_000) });
  const stage = staged(() => [failing]);
  const waiting = Promise.withResolvers<() => void>();
  const reach = async (own: OwnRuntime) => {
    const { setTimeout: real } = globalThis;
    let hasDeadline = false;
    const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation((done, ms) => {
      if (ms !== limits.modelSilenceMs) return real(done, ms);
      // The first one is the time limit of the call.
      hasDeadline = !hasDeadline;
      if (hasDeadline) return real(done, ms);
      timers.mockRestore();
      waiting.resolve(done);
      return real(() => undefined);
    });
    const response = await ask(own, "Go.");
    await waiting.promise;
    return response;
  };
  const release = () => void waiting.promise.then((endWait) => endWait());
  return { ...stage, reach, release };
}

/** A turn that was interrupted so often that its next attempt waits for a minute. */
function inRecovery(): Stage {
  const stage = staged(() => [never, never]);
  const begun = gate();
  const model = scriptedModel([() => (void begun.wait(), never()), said, said, said]);
  const reach = async (own: OwnRuntime) => {
    await ask(own, "Go.");
    await begun.reached;
    const tries = Array.from({ length: 8 }, (_, index) => ({ attempt: index + 2, ms: Date.now() }));
    const lines = tries.map((about) => `a${JSON.stringify(about)}\n`).join("");
    own.state.storage.sql.exec("UPDATE turn SET log = log || ? WHERE part = 0", lines);
    own.wakeAgain();
    return own.call("GET", "/conversations/c/stream");
  };
  const agents: RuntimeOptions["agents"] = stage.options.agents;
  return { ...stage, options: { agents, model }, model, reach };
}

const half = text("Hello, wor").slice(0, -1);

/** Points in a turn, created for each test. */
export const stages = {
  "before the first chunk": () => staged((wait) => [halting(wait, [], said)]),
  "in mid-delta": () => staged((wait) => [halting(wait, [half], [text("ld."), finish()])]),
  "between two steps": () =>
    staged((wait) => [[toolCall("act", {}), asked], halting(wait, [], said)]),
  "while a tool runs": () =>
    staged(() => [[text("So: "), toolCall("hold", {}), toolCall("act", {}), asked]]),
  "while a retry waits": inRetry,
  "in the delay of a recovery": inRecovery,
} satisfies Readonly<Record<string, () => Stage>>;

export type StageName = keyof typeof stages;
