import { describe, expect, it } from "vitest";
import { type FailureLimits, type Supervised, Supervisor } from "../../scripts/supervisor.ts";
import { slow } from "../support/slow.ts";

const MIB = 1_048_576;
const limits: FailureLimits = { lost: 1, busy: 2, busyCpuMs: 1_000, crowded: 4, unknown: 3 };

/** Counts the checks of a process that never answers until it is given up. */
async function questionsUntilGivenUp(
  given: Partial<Pick<Supervised, "cpuMs" | "hasAllProcesses">>,
  bytesAt: (question: number) => number = () => 0,
): Promise<number> {
  let questions = -1;
  const exit = Promise.withResolvers<number>();
  const process: Supervised = {
    exited: exit.promise,
    recordProcesses: () => undefined,
    hasAllProcesses: () => true,
    cpuMs: () => 0,
    lastOutput: () => "",
    kill: () => exit.resolve(1),
    stop: async () => exit.resolve(0),
    ...given,
  };
  const supervisor = new Supervisor({
    name: "Worker",
    restart: "it is restarted",
    start: () => process,
    // No server can listen on this port.
    url: "http://127.0.0.1:0/health",
    limits,
    bytes: () => bytesAt(++questions),
    log: (line) => {
      expect(line).toBe("The Worker does not answer; it is restarted.");
      void supervisor.stop();
    },
  });
  await supervisor.watch();
  return questions;
}

describe.concurrent("an unresponsive process is given up", () => {
  it("soon, if it uses much CPU and is probably in a loop", async () => {
    let cpuMs = 0;
    const asked = await questionsUntilGivenUp({ cpuMs: () => (cpuMs += 1_000) });
    expect(asked).toBe(limits.busy);
  });

  it("late, if it does not and is probably starved", slow, async () => {
    expect(await questionsUntilGivenUp({})).toBe(limits.crowded);
  });

  it("at once, if it has lost one of its processes", async () => {
    expect(await questionsUntilGivenUp({ hasAllProcesses: () => false })).toBe(limits.lost);
  });

  it("not during a large upload, however much CPU it takes", slow, async () => {
    let cpuMs = 0;
    const bytesAt = (question: number) => Math.min(question, 2) * MIB;
    const asked = await questionsUntilGivenUp({ cpuMs: () => (cpuMs += 1_000) }, bytesAt);
    expect(asked).toBe(2 + limits.busy);
  });
});
