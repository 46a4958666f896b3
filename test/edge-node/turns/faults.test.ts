import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { ask, gate, halting, said, type StageName, stages } from "../../support/fault-stages.ts";
import { keptIn, never } from "../../support/fault-steps.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, toolCall } from "../../../packages/testing/src/testing.ts";
import { chunksIn, textIn } from "../../support/turn-client.ts";

afterEach(() => {
  vi.useRealTimers();
});

const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 200, form: "display" }).messages;
const lastOf = (body: string) => chunksIn(body).at(-1)?.type;
const stop = async (own: OwnRuntime) => {
  const response = await own.call("POST", "/conversations/c/stop");
  return (await response.json<{ stopped: boolean }>()).stopped;
};

/** Expects that the next question is answered, whatever has happened before. */
async function expectNext(own: OwnRuntime, before: number): Promise<void> {
  expect(await (await ask(own, "And now?", "text/plain")).text()).toBe("Hello.");
  const messages = messagesOf(own);
  expect(messages).toHaveLength(before + 2);
  expect(messages.slice(-2).map(textOf)).toEqual(["And now?", "Hello."]);
  expect(own.conversation().about()).toMatchObject({ status: "idle" });
}

interface Stopped {
  /** The parts of the stored answer. */
  readonly keeps: readonly string[];
  readonly calls: number;
}

const stopped: Readonly<Record<StageName, Stopped>> = {
  "before the first chunk": { keeps: [], calls: 1 },
  "in mid-delta": { keeps: ["Hello, wor"], calls: 1 },
  "between two steps": { keeps: ["act output-available"], calls: 2 },
  "while a tool runs": { keeps: ["So: ", "hold outcome_unknown", "act outcome_unknown"], calls: 1 },
  "while a retry waits": { keeps: [], calls: 1 },
  "in the delay of a recovery": { keeps: [], calls: 1 },
};
// The keys of `stages` are those of the table.
const stageNames = Object.keys(stages) as StageName[];

describe("a stop", () => {
  it.each(stageNames)("%s", async (name) => {
    const { options, model, reach } = stages[name]();
    await withRuntime(options, async (own) => {
      const response = await reach(own);
      const waiting = await ask(own, "Not yet?", "text/plain");
      expect(await stop(own)).toBe(true);
      expect(lastOf(await response.text())).toBe("abort");
      // Only the running turn is stopped: the next one in the queue is answered.
      expect(await waiting.text()).toBe("Hello.");
      expect(model.calls).toHaveLength(stopped[name].calls + 1);
      const [question, answer] = messagesOf(own);
      expect(question?.role).toBe("user");
      expect(keptIn(answer)).toEqual(stopped[name].keeps);
      expect(answer?.metadata).toMatchObject({ stopped: true });
      expect(await stop(own)).toBe(false);
      await expectNext(own, 4);
    });
  });
});

describe("a deletion", () => {
  it.each(stageNames)("%s", async (name) => {
    const { options, reach, release } = stages[name]();
    await withRuntime(options, async (own) => {
      const response = await reach(own);
      const waiting = await ask(own, "Not yet?");
      expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
      expect(lastOf(await response.text())).toBe("abort");
      expect(textIn(chunksIn(await waiting.text()))).toBe("");
      // A tool that still runs cannot write any more.
      release();
      await scheduler.wait(0);
      await problemIn(await own.call("GET", "/conversations/c"), "conversation_not_found");
      expect(await own.state.storage.getAlarm()).toBeNull();
      await expectNext(own, 0);
    });
  });
});

/** The parts of answers whose turns go on after they were released. */
const whole: Readonly<Partial<Record<StageName, readonly string[]>>> = {
  "before the first chunk": ["Hello."],
  "in mid-delta": ["Hello, wor", "ld."],
  "between two steps": ["act output-available", "Hello."],
  "while a tool runs": ["So: ", "hold output-available", "act output-available", "Hello."],
  "while a retry waits": ["Hello."],
};
// Without the stage that waits for a minute.
const goingOn = stageNames.filter((name) => whole[name] !== undefined);

/** Saves a variable with this time to live in seconds, so that the conversation exists before the turn. */
async function putOld(own: OwnRuntime, ttl: number): Promise<void> {
  const response = await own.call("PUT", `/conversations/c/variables/old?ttl=${ttl}`, json(1));
  expect(response.status).toBe(201);
}

describe("an alarm", () => {
  it.each(goingOn)("%s", async (name) => {
    const { options, reach, release } = stages[name]();
    await withRuntime(options, async (own) => {
      await putOld(own, 3_600);
      own.state.storage.sql.exec("UPDATE variable SET expires_at = 1 WHERE name = 'old'");
      own.wakeAgain();
      const response = await reach(own);
      const rung: string[] = [];
      // The alarm is the turn's watchdog: it lasts as long as the turn, and does not disturb it.
      const ring = async () => {
        await own.conversation().alarm();
        rung.push(own.conversation().about().status);
      };
      const alarms = [ring(), ring()];
      await scheduler.wait(0);
      expect(rung).toEqual([]);
      release();
      expect(lastOf(await response.text())).toBe("finish");
      await Promise.all(alarms);
      expect(rung).toEqual(["idle", "idle"]);
      expect(keptIn(messagesOf(own)[1])).toEqual(whole[name]);
      const left = own.state.storage.sql.exec("SELECT name FROM variable WHERE name = 'old'");
      expect(left.toArray()).toEqual([]);
      await expectNext(own, 2);
    });
  });
});

describe("a clock that jumps", () => {
  const DAY_MS = 86_400_000;
  const jumps = { "a day ahead": DAY_MS, "a day back": -DAY_MS };
  const rows = goingOn.flatMap((name) =>
    Object.entries(jumps).map(([jump, byMs]) => [jump, name, byMs] as const),
  );

  it.each(rows)("%s %s", async (_, name, byMs) => {
    const { options, reach, release } = stages[name]();
    vi.useFakeTimers({ toFake: ["Date"] });
    await withRuntime(options, async (own) => {
      await putOld(own, 3_600);
      const response = await reach(own);
      vi.setSystemTime(Date.now() + byMs);
      release();
      expect(lastOf(await response.text())).toBe("finish");
      expect(keptIn(messagesOf(own)[1])).toEqual(whole[name]);
      const old = await own.call("GET", "/conversations/c/variables/old");
      expect(old.status).toBe(byMs > 0 ? 410 : 200);
      await old.text();
      await expectNext(own, 2);
      // The next alarm is set by the current clock.
      const due = await vi.waitUntil(() => own.state.storage.getAlarm());
      expect(due).toBeLessThanOrEqual(Date.now() + 31 * DAY_MS);
    });
  });
});

describe("a clock that jumps while the process ends,", () => {
  it.each([86_400_000, -86_400_000])("by %i ms: the turn continues", async (byMs) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { reached, wait } = gate();
    const slow = halting(() => scheduler.wait(20), [], said);
    const model = scriptedModel([() => (void wait(), never()), slow, said]);
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    await withRuntime({ agents: [agent], model }, async (own) => {
      await ask(own, "Go.");
      await reached;
      vi.setSystemTime(Date.now() + byMs);
      own.wakeAgain();
      const response = await own.call("GET", "/conversations/c/stream?after=0");
      expect(lastOf(await response.text())).toBe("finish");
      expect(keptIn(messagesOf(own)[1])).toEqual(["Hello."]);
      await expectNext(own, 2);
    });
  });
});

describe("while an approval waits", () => {
  const waiting = async (work: (own: OwnRuntime) => Promise<void>) => {
    let runs = 0;
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => ++runs });
    const model = scriptedModel([[toolCall("pay", {}), finish("tool-calls")], said, said, said]);
    const agent = { name: "a", description: "", instructions: "", tools: { pay } };
    await withRuntime({ agents: [agent], model }, async (own) => {
      expect(lastOf(await (await ask(own, "Go.")).text())).toBe("finish");
      expect(own.conversation().about().status).toBe("waiting");
      await work(own);
    });
    return runs;
  };
  const approve = (own: OwnRuntime) => {
    const [approval] = messagesOf(own).flatMap(({ parts }) =>
      parts.flatMap((part) => ("approval" in part ? (part.approval?.id ?? []) : [])),
    );
    return own.call("POST", `/conversations/c/approvals/${approval}`, json({ approved: true }));
  };

  it("a stop finds nothing to stop, and the call still waits", async () => {
    const runs = await waiting(async (own) => {
      expect(await stop(own)).toBe(false);
      expect(lastOf(await (await approve(own)).text())).toBe("finish");
      expect(keptIn(messagesOf(own)[1])).toEqual(["pay output-available", "Hello."]);
      await expectNext(own, 2);
    });
    expect(runs).toBe(1);
  });

  it("an alarm changes nothing", async () => {
    const runs = await waiting(async (own) => {
      await own.conversation().alarm();
      expect(own.conversation().about().status).toBe("waiting");
      expect(lastOf(await (await approve(own)).text())).toBe("finish");
      await expectNext(own, 2);
    });
    expect(runs).toBe(1);
  });

  it.each([86_400_000, -86_400_000])("a clock jump of %i ms changes nothing", async (byMs) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const runs = await waiting(async (own) => {
      vi.setSystemTime(Date.now() + byMs);
      expect(lastOf(await (await approve(own)).text())).toBe("finish");
      await expectNext(own, 2);
    });
    expect(runs).toBe(1);
  });

  it("a deletion removes it", async () => {
    const runs = await waiting(async (own) => {
      const approving = approve(own);
      const deleted = own.call("DELETE", "/conversations/c");
      await Promise.all([approving, deleted].map(async (response) => (await response).text()));
      expect((await deleted).status).toBe(204);
      await problemIn(await own.call("GET", "/conversations/c"), "conversation_not_found");
      await expectNext(own, 0);
    });
    expect(runs).toBeLessThanOrEqual(1);
  });

  it("the next message replaces it", async () => {
    const runs = await waiting(async (own) => {
      await expectNext(own, 2);
      await problemIn(await approve(own), "approval_not_found");
    });
    expect(runs).toBe(0);
  });
});
