import { expect, it } from "vitest";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { ask, type StageName, stages } from "../../support/fault-stages.ts";
import { keptIn } from "../../support/fault-steps.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { chunksIn, textIn } from "../../support/turn-client.ts";

const messagesOf = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 200, form: "display" }).messages;
const lastOf = (body: string) => chunksIn(body).at(-1)?.type;

/** Expects that the next question is answered, whatever has happened before. */
async function expectNext(own: OwnRuntime, before: number): Promise<void> {
  expect(await (await ask(own, "And now?", "text/plain")).text()).toBe("Hello.");
  const messages = messagesOf(own);
  expect(messages).toHaveLength(before + 2);
  expect(messages.slice(-2).map(textOf)).toEqual(["And now?", "Hello."]);
  expect(own.conversation().about()).toMatchObject({ status: "idle" });
}

// The keys of `stages` are those of the table.
const stageNames = Object.keys(stages) as StageName[];

it.each(stageNames)("a deletion %s", async (name) => {
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

it.each(goingOn)("an alarm %s", async (name) => {
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
    expect([rung, keptIn(messagesOf(own)[1])]).toEqual([["idle", "idle"], whole[name]]);
    const left = own.state.storage.sql.exec("SELECT name FROM variable WHERE name = 'old'");
    expect(left.toArray()).toEqual([]);
    await expectNext(own, 2);
  });
});
