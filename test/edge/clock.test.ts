import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import { directoryOf, eventually, newTenant } from "../support/directory.ts";
import { ask, call, get, namesIn, newId, objectOf, problemIn, put } from "../support/edge.ts";
import { alarmOf, HOUR_MS, runAlarm } from "../support/storage.ts";

let startMs = 0;
beforeEach(() => {
  startMs = Date.now();
  // Once only: stores keep the function that tells the time.
  vi.useFakeTimers({ toFake: ["Date"], now: startMs });
});
afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;

/** Sets the clock to this time after the test's start. */
function jump(byMs: number): void {
  vi.setSystemTime(startMs + byMs);
}

describe("a clock that was ahead and is set back", () => {
  it("deletes nothing early, and what is used again expires as always", async () => {
    jump(YEAR_MS);
    const id = newId();
    await ask(id, "Weather in NYC?");
    await put(id, "used", 1);
    await put(id, "pinned?pin=true", 1);
    jump(0);
    await runAlarm(id);
    expect(await namesIn(id)).toContain("used");
    await put(id, "used", 2);
    await put(id, "pinned?pin=true", 2);
    await ask(id, "Weather in Rome?");
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    const due = (await alarmOf(id)) ?? 0;
    expect(due).toBeLessThanOrEqual(Date.now() + limits.variableIdleMs);
    jump(limits.variableIdleMs + HOUR_MS);
    await runDurableObjectAlarm(objectOf(id));
    await problemIn(await get(id, "used"), "variable_evicted");
    // What was written ahead of time counts from its own time.
    jump(YEAR_MS + limits.conversationIdleMs + HOUR_MS);
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  });

  it("does not let a tenant's deletion of then reach conversations of now", async () => {
    const tenant = newTenant();
    const directory = () => directoryOf(tenant.name);
    jump(YEAR_MS);
    await tenant.put("old", "v");
    await eventually(async () => expect(await tenant.ids()).toEqual(["old"]));
    await directory().deleteAll(tenant.name);
    await eventually(async () => {
      await runDurableObjectAlarm(directory());
      expect(await directory().list({ limit: 1 })).toEqual({ entries: [] });
    });
    jump(0);
    await tenant.put("new", "v");
    await eventually(async () => expect(await tenant.ids()).toEqual(["new"]));
    jump(YEAR_MS + DAY_MS);
    await evictDurableObject(directory());
    await tenant.put("new", "w");
    expect((await tenant.call("GET", "/conversations/new")).status).toBe(200);
    await eventually(async () => expect(await tenant.ids()).toEqual(["new"]));
  });
});
