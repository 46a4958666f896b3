import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { ask, call, get, json, namesIn, newId, objectOf, put } from "../support/edge.ts";
import { withRuntime } from "../support/own-runtime.ts";
import { finish, type Script, scriptedModel, text } from "../../packages/testing/src/testing.ts";
import {
  age,
  alarmOf,
  blobsOf,
  HOUR_MS,
  runAlarm,
  tablesOf,
  withoutTimers,
} from "../support/storage.ts";
import { slow } from "../support/slow.ts";
import { anyBytes, putAs } from "../support/values.ts";

// An object with unwritten access times is not evicted until it has written them.
const DAY_MS = 24 * HOUR_MS;

async function stateOf(id: string): Promise<number> {
  const response = await call("GET", `/conversations/${id}`);
  await response.text();
  return response.status;
}

describe("a conversation that nobody uses", () => {
  it("is deleted with its messages after thirty days, and no earlier", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    await put(id, "pinned?pin=true", "x".repeat(100_000));
    await (await putAs(id, "bytes?pin=true", { body: anyBytes(70_000), type: "image/png" })).text();
    await age(id, limits.conversationIdleMs - HOUR_MS);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await stateOf(id)).toBe(200);
    expect(await namesIn(id)).toEqual(["pinned", "bytes"]);
    const due = (await alarmOf(id)) ?? 0;
    expect(due).toBeGreaterThan(Date.now() + HOUR_MS / 2);
    expect(due).toBeLessThanOrEqual(Date.now() + HOUR_MS);
    await age(id, HOUR_MS);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await stateOf(id)).toBe(404);
    expect(await tablesOf(id)).toEqual([]);
    expect(await blobsOf(id)).toEqual([]);
    expect(await alarmOf(id)).toBeNull();
  });

  it.each<readonly [string, (id: string) => Promise<unknown>]>([
    ["a turn", (id) => ask(id, "Who are you?")],
    ["a put", (id) => put(id, "b", 1)],
    ["a variable that was put and deleted", (id) => putAndDelete(id)],
    ["a read", (id) => withoutTimers(async () => (await get(id, "pinned")).text())],
    ["a patch", async (id) => (await patch(id, "pinned", { description: "d" })).text()],
  ])("is kept alive by %s", async (_, use) => {
    const id = newId();
    await ask(id, "Who are you?");
    await put(id, "pinned?pin=true", 1);
    await age(id, limits.conversationIdleMs - DAY_MS);
    await use(id);
    await runAlarm(id);
    await age(id, DAY_MS + HOUR_MS);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await stateOf(id)).toBe(200);
    expect((await alarmOf(id)) ?? 0).toBeGreaterThan(Date.now());
    await age(id, limits.conversationIdleMs);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await stateOf(id)).toBe(404);
  });

  it("is not deleted while it answers: its alarm lasts as long", slow, async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const step = async (): Promise<Script> => {
      begun.resolve();
      await gate.promise;
      return [text("Done."), finish()];
    };
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const retention = { conversationIdleMs: 100 };
    const model = scriptedModel([step]);
    await withRuntime({ agents: [agent], model, retention }, async (own) => {
      const turn = await own.call("POST", "/conversations/c/messages", json({ message: "Hi." }));
      await begun.promise;
      let hasRung = false;
      const ringing = own
        .conversation()
        .alarm()
        .finally(() => (hasRung = true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(hasRung).toBe(false);
      expect((await own.call("GET", "/conversations/c")).status).toBe(200);
      gate.resolve();
      expect(await turn.text()).toContain("Done.");
      await ringing;
      await vi.waitUntil(() => isOver(own.state));
      await own.conversation().alarm();
      expect((await own.call("GET", "/conversations/c")).status).toBe(404);
      expect(await own.state.storage.getAlarm()).toBeNull();
    });
  });
});

/** Returns true if the conversation was idle for a tenth of a second, or was deleted for that reason. */
function isOver({ storage: { sql } }: DurableObjectState): boolean {
  if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'event'").toArray().length === 0) {
    return true;
  }
  const { at } = sql.exec<{ at: number }>("SELECT max(at) AS at FROM event").one();
  return Date.now() > at + 100;
}

function patch(id: string, name: string, changes: object): Promise<Response> {
  return call("PATCH", `/conversations/${id}/variables/${name}`, json(changes));
}

async function putAndDelete(id: string): Promise<void> {
  await put(id, "short", 1);
  expect((await call("DELETE", `/conversations/${id}/variables/short`)).status).toBe(204);
}
