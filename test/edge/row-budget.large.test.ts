import type { ToolSet } from "ai";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { json } from "../support/edge.ts";
import { withRuntime } from "../support/own-runtime.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { slow } from "../support/slow.ts";
import { watchStorage } from "../support/written-rows.ts";
import { toolOf } from "../support/tool-of.ts";

const DELTAS = 400;
const TURN_MS = 8_000;

/** 400 deltas in eight seconds of the fake clock. */
const slowly: Step = async function* () {
  for (const part of text("word ".repeat(DELTAS), { chunks: 5 })) {
    vi.setSystemTime(Date.now() + TURN_MS / DELTAS);
    await new Promise((resolve) => setTimeout(resolve, 1));
    yield part;
  }
  yield finish();
};

const look = toolOf({ n: z.number() }, ({ n }) => ({ n }));
const tools: ToolSet = { look };
const agent = { name: "a", description: "", instructions: "", tools, outputPath: true };
const looks = (...numbers: readonly number[]): Step => [
  numbers.flatMap((n) => toolCall("look", { n }, { id: `call_${n}` })),
  finish("tool-calls"),
];

/** Goals of the project, including alarms. */
it.each<{ name: string; budget: number; steps: readonly Step[] }>([
  { name: "without tools", budget: 12, steps: [slowly] },
  { name: "with three small tools at once", budget: 17, steps: [looks(1, 2, 3), slowly] },
  {
    name: "with three small tools one after the other",
    budget: 21,
    steps: [looks(1), looks(2), looks(3), slowly],
  },
])(
  "a turn of 400 deltas $name writes at most $budget rows",
  slow,
  async ({ name, budget, steps }) => {
    // Always behind the platform's clock, so that an alarm for the current time fires at once.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 10 * TURN_MS });
    const model = scriptedModel([...steps, ...steps]);
    await withRuntime({ agents: [agent], model }, async (own) => {
      const ask = async () => {
        const init = json({ message: "?" });
        await (await own.call("POST", "/conversations/c/messages", init)).text();
      };
      const isArmed = async () => ((await own.state.storage.getAlarm()) ?? 0) > Date.now();
      const read = watchStorage(own.state.storage);
      await ask();
      await vi.waitUntil(isArmed);
      const first = read().rowsWritten;
      await ask();
      await vi.waitUntil(isArmed);
      const { rowsWritten, alarms } = read();
      console.log(`rows ${name}: ${rowsWritten}, of which alarms ${alarms}; first turn: ${first}`);
      expect(alarms).toBe(2);
      expect(rowsWritten).toBeLessThanOrEqual(budget);
      // The tables, and an alarm in place of the turn's own.
      expect(first).toBeLessThanOrEqual(budget + 14);
    });
  },
);
