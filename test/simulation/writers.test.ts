import { beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { json, MORE_WRITERS, WRITERS } from "../chaos/writers.ts";
import { NodeRuntime } from "../support/node-runtime.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { toolOf } from "../support/tool-of.ts";

const DIRECTORY = {
  idFromName: (name: string) => name,
  get: () => ({
    tell: async () => undefined,
    list: async () => ({ entries: [{ id: "c", updatedMs: 0, createdMs: 0 }] }),
  }),
};

/** How often the tool was called, and how to let it answer. */
let looks = 0;
let pays = 0;
let answer: (said: string) => void = () => undefined;

const look = toolOf({ call: z.string() }, () => {
  looks++;
  return new Promise<string>((resolve) => (answer = resolve));
});

/** May run once only. */
const pay = toolOf({}, () => `paid ${++pays}`);

const looking: Step = [toolCall("look", { call: "1" }), finish("tool-calls")];
const saying: Step = [text("Done"), finish()];

function newRuntime(...steps: readonly Step[]): NodeRuntime {
  const model = scriptedModel([...steps, ...Array.from({ length: 20 }, () => looking)]);
  const agent = { name: "a", description: "", instructions: "", tools: { look, pay } };
  return new NodeRuntime(
    {
      agents: [{ ...agent, effects: { look: "none" }, approvesPlan: () => true }],
      model,
      plans: planSupport(),
      transfer: transfers,
    },
    { DIRECTORY },
  );
}

/** Lets time pass until the condition holds. */
async function until(isSo: () => boolean, stepMs = 5): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    if (turns > 20_000) throw new Error("That does not come.");
    await vi.advanceTimersByTimeAsync(stepMs);
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

/**
 * Sends a request and returns once the tool was called and the alarm's handler is running. Nobody reads the
 * response.
 */
async function begin(runtime: NodeRuntime, path: string, body: object): Promise<void> {
  const before = looks;
  void runtime.ask("POST", `/conversations/c${path}`, json(body));
  await until(() => looks > before && runtime.objectOf("c").isRinging);
}

const beginnings: Readonly<Record<string, (runtime: NodeRuntime) => Promise<void>>> = {
  turn: (runtime) => begin(runtime, "/messages", { message: "Look" }),
  run: async (runtime) => {
    const paid = { _tool: "pay", _outputPath: "†state.paid" };
    const calls = [paid, { _tool: "look", call: "†state.paid" }];
    const proposed = await runtime.ask("POST", "/conversations/c/plans", json({ calls }));
    const { id } = (await proposed.json()) as { readonly id: string };
    await begin(runtime, `/plans/${id}/run`, {});
  },
};

beforeEach(() => {
  looks = pays = 0;
  // Fake timers, so that those of killed processes end with the test.
  vi.useFakeTimers({
    toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
  // Timers of a killed process fail because they find no database.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
/** Kills and restarts the process. The work must resume without a request. */
async function expectResumed(runtime: NodeRuntime): Promise<void> {
  const before = looks;
  runtime.kill();
  const { alarmMs } = runtime.objectOf("c");
  const isDue = alarmMs !== null && alarmMs <= Date.now();
  runtime.start();
  if (isDue) await until(() => looks > before);
  expect(isDue, `the alarm is set to ${alarmMs}`).toBe(true);
}

describe.each(Object.keys(beginnings))(
  "a %s goes on by itself after a kill when a client",
  (kind) => {
    it.each(Object.entries(MORE_WRITERS))("%s", async (_, write) => {
      const runtime = newRuntime();
      await beginnings[kind]?.(runtime);
      await write(runtime.ask, "c");
      await expectResumed(runtime);
      // The resumed attempt must have an alarm too.
      await write(runtime.ask, "c");
      await expectResumed(runtime);
      expect(pays).toBe(kind === "run" ? 1 : 0);
    });
  },
);

describe("a turn goes on by itself after a kill", () => {
  it("when it has waited for the turn before it", async () => {
    const runtime = newRuntime(looking, saying);
    const { ask } = runtime;
    await begin(runtime, "/messages", { message: "Look" });
    void ask("POST", "/conversations/c/messages", json({ message: "Look again" }));
    answer("seen");
    await until(() => looks === 2);
    await WRITERS["writes a new variable"]?.(ask, "c");
    await expectResumed(runtime);
  });

  it("when the conversation was deleted and begun anew while the alarm rang", async () => {
    const runtime = newRuntime();
    await begin(runtime, "/messages", { message: "Look" });
    await runtime.ask("DELETE", "/conversations/c");
    await begin(runtime, "/messages", { message: "Look" });
    await WRITERS["writes a new variable"]?.(runtime.ask, "c");
    await expectResumed(runtime);
  });

  it("when it lasts longer than an alarm's handler may", async () => {
    const runtime = newRuntime();
    await begin(runtime, "/messages", { message: "Look" });
    const { alarms } = runtime.objectOf("c");
    await until(() => runtime.objectOf("c").alarms > alarms, 5_000);
    await WRITERS["writes a new variable"]?.(runtime.ask, "c");
    await expectResumed(runtime);
  });

  it("when a pass of the alarm has failed", async () => {
    const runtime = newRuntime();
    await begin(runtime, "/messages", { message: "Look" });
    // The alarm's handler evicts from time to time while the turn runs.
    vi.spyOn(SqlStore.prototype, "evictDue").mockImplementationOnce(() => {
      throw new Error("The disk does not answer.");
    });
    const { alarms } = runtime.objectOf("c");
    await until(() => runtime.objectOf("c").alarms > alarms, 5_000);
    await expectResumed(runtime);
  });
});

it("costs two alarms a turn, however many variables are written beside it", async () => {
  const runtime = newRuntime(looking, saying, looking, saying);
  const object = runtime.objectOf("c");
  const isArmed = () => !object.isRinging && (object.alarmMs ?? 0) > Date.now();
  for (const turn of [1, 2]) {
    const before = object.alarms;
    await begin(runtime, "/messages", { message: "Look" });
    for (const name of ["a", "b", "c"]) {
      await runtime.ask("PUT", `/conversations/c/variables/${name}`, json(turn));
    }
    answer("seen");
    await until(isArmed);
    expect(object.alarms - before).toBe(2);
  }
});
