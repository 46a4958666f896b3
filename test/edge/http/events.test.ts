import { evictDurableObject } from "cloudflare:test";
import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import { recordTools } from "../../../src/edge/turns/attempt.ts";
import { DurableSql } from "../../../src/edge/platform/durable-sql.ts";
import * as limits from "../../../src/limits.ts";
import { type ConversationEvent, EventLog } from "../../../src/turn/log/event-log.ts";
import { ask, call, get, json, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { eventPage, eventsOf, fill, idsOf, said, watchEvents } from "../../support/event-reader.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import { inStorage, rowsIn, runAlarm } from "../../support/storage.ts";
import { anyBytes, putAs } from "../../support/values.ts";

const at = (id: string, rest = "") => `/conversations/${id}/variables${rest}`;
const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, id) => id + from);

describe("events", () => {
  it("report all changes of variables, but never a value", async () => {
    const id = newId();
    const value = "VALUE".repeat(30_000);
    await put(id, "a?ttl=3600&description=VALUE", [value]);
    await put(id, "a?mode=append", value);
    await call("PATCH", at(id, "/a"), json({ pinned: true, description: "VALUE" }));
    await put(id, "b?visibility=secret", "VALUE");
    await putAs(id, "c", { body: anyBytes(100_000), type: "image/png" });
    await call("DELETE", at(id, "/b"));
    await put(id, "d", { VALUE: 1 });
    await call("DELETE", at(id, "?keepLast=1"));
    const events = await eventsOf(id);
    expect(said(events)).toEqual([
      "variable.saved a",
      "variable.saved a",
      "variable.updated a",
      "variable.saved b",
      "variable.saved c",
      "variable.deleted b",
      "variable.saved d",
      "variable.deleted c",
    ]);
    expect(idsOf(events)).toEqual(upTo(8));
    expect(events[2]?.variable).toEqual({
      name: "a",
      version: 2,
      type: "array",
      bytes: 300_007,
      scope: "conversation",
      visibility: "model",
      sources: ["caller"],
      trusted: true,
      pinned: true,
      expiresAt: expect.any(String),
    });
    const times = events.map((event) => Date.parse(event.at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(JSON.stringify([events, await rowsIn(id, "event")])).not.toContain("VALUE");
  });

  it("say why a variable was evicted", async () => {
    const id = newId();
    await put(id, "a", 1);
    await put(id, "b?ttl=3600", 1);
    await inStorage(id, ({ sql }) => {
      sql.exec("UPDATE variable SET accessed_at = 1 WHERE name = 'a'");
      sql.exec("UPDATE variable SET expires_at = 1 WHERE name = 'b'");
    });
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    const events = await eventsOf(id);
    expect(said(events.slice(2))).toEqual([
      "variable.evicted a idle",
      "variable.evicted b expired",
    ]);
    const model = scriptedModel([]);
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const retention = { quotaBytes: 1_000 };
    await withRuntime({ agents: [agent], model, retention }, async (own) => {
      for (const name of ["a", "b"]) {
        await own.call("PUT", at("c", `/${name}`), json("x".repeat(600)));
      }
      const page = await own.call("GET", "/conversations/c/events");
      const { events } = await page.json<{ events: ConversationEvent[] }>();
      expect(said(events)).toEqual([
        "variable.saved a",
        "variable.evicted a quota",
        "variable.saved b",
      ]);
    });
  });

  it("of a turn are one row, from its start to its end", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const [row, ...others] = await rowsIn(id, "event");
    expect(others).toEqual([]);
    const events = await eventsOf(id);
    expect(JSON.parse(String(row?.data))).toEqual(events);
    expect(said(events)).toEqual([
      "turn.started",
      "tool.called get_weather",
      "variable.saved get_weather_nyc",
      "tool.done get_weather",
      "turn.done",
    ]);
    const { turn } = events[0] ?? {};
    expect(turn).toMatch(/^[\w-]{36}$/);
    for (const index of [1, 3, 4]) expect(events[index]?.turn).toBe(turn);
    const calls = new Set(events.map((event) => event.toolCallId ?? event.variable?.toolCallId));
    expect([...calls].filter((call) => call !== undefined)).toHaveLength(1);
    for (let rows = 2; rows <= 4; rows++) {
      await ask(id, "Compare NYC and London");
      expect(await rowsIn(id, "event")).toHaveLength(rows);
    }
    expect(idsOf(await eventsOf(id))).toEqual(upTo((await eventsOf(id)).length));
  });

  it("have the code of a failed tool or turn, but not its message", async () => {
    const fails = tool({
      inputSchema: jsonSchema<object>({ type: "object" }),
      execute: (): unknown => {
        throw new Error("VALUE: is what it said");
      },
    });
    const steps: readonly Step[] = [
      [
        toolCall("fails", {}, { id: "one" }),
        toolCall("fails", "{]", { id: "two" }),
        finish("tool-calls"),
      ],
      [text("So it goes."), finish()],
      () => {
        throw new Error("VALUE");
      },
    ];
    const agent = { name: "a", description: "", instructions: "", tools: { fails } };
    await withRuntime({ agents: [agent], model: scriptedModel(steps) }, async (own) => {
      const say = () => own.call("POST", "/conversations/c/messages", json({ message: "Go on." }));
      for (const turn of [await say(), await say()]) await turn.text();
      const page = await own.call("GET", "/conversations/c/events");
      const { events } = await page.json<{ events: ConversationEvent[] }>();
      expect(said(events)).toEqual([
        "turn.started",
        "tool.called fails",
        "tool.failed fails tool_failed",
        "turn.done",
        "turn.started",
        "turn.failed model_failed",
      ]);
      expect(JSON.stringify(events)).not.toContain("VALUE");
    });
  });

  it("do not take the words of a provider's tool as a code", async () => {
    const events = await inStorage(newId(), (storage) => {
      storage.sql.exec("CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER, data TEXT)");
      const log = new EventLog(new DurableSql(storage));
      const record = recordTools(log, "turn", []);
      for (const errorText of ["VALUE", "VALUE: x", "tool_timeout: x"]) {
        record({ type: "tool-output-error", toolCallId: "one", errorText });
      }
      log.flush();
      return log.list({ after: 0, limit: 10 }).events;
    });
    expect(events.map(({ code }) => code)).toEqual(["tool_failed", "tool_failed", "tool_timeout"]);
  });

  it("are not written if a write fails, or if nothing exists", async () => {
    const id = newId();
    await put(id, "a", { b: 1 });
    const headers = { "if-match": '"x"' };
    const broken = { body: "{", headers: { "content-type": "application/json" } };
    await problemIn(await call("PUT", at(id, "/a"), broken), "bad_json");
    await problemIn(await call("PUT", at(id, "/a"), json(1, headers)), "precondition_failed");
    await problemIn(await call("PUT", at(id, "/a?mode=append"), json(1)), "bad_value");
    await problemIn(await call("PUT", at(id, "/a?ttl=0"), json(1)), "bad_request");
    await problemIn(await call("PATCH", at(id, "/a"), json({ pinned: 1 })), "bad_request");
    await problemIn(
      await call("PATCH", at(id, "/b"), json({ pinned: true })),
      "variable_not_found",
    );
    await problemIn(await call("DELETE", at(id, "/b")), "variable_not_found");
    await problemIn(await call("DELETE", at(id, "/a"), { headers }), "precondition_failed");
    await (await get(id, "a")).text();
    await call("DELETE", at(id, "?keepLast=9"));
    expect(said(await eventsOf(id))).toEqual(["variable.saved a"]);
    expect(await rowsIn(id, "event")).toHaveLength(1);
  });

  it("are numbered without gaps, even across evictions", async () => {
    const id = newId();
    for (let round = 0; round < 3; round++) {
      await put(id, `a_${round}`, 1);
      await evictDurableObject(objectOf(id));
      await ask(id, "Weather in NYC?");
      await evictDurableObject(objectOf(id));
      await (await call("DELETE", at(id))).text();
    }
    const events = await eventsOf(id);
    expect(idsOf(events)).toEqual(upTo(events.length));
    expect(events.length).toBeGreaterThan(20);
  });

  it("of an unknown conversation are empty, and reading them does not create it", async () => {
    const id = newId();
    expect(await eventPage(id)).toEqual({ events: [] });
    expect(await eventPage(id, "?after=5&limit=1")).toEqual({ events: [] });
    const reader = await watchEvents(id);
    const first = reader.next();
    expect((await call("GET", `/conversations/${id}`)).status).toBe(404);
    expect(await rowsIn(id, "meta")).toEqual([]);
    // The waiting client receives the event when the conversation begins.
    await put(id, "a", 1);
    expect(said([(await first) ?? never()])).toEqual(["variable.saved a"]);
    await reader.cancel();
  });
});

describe("GET events as JSON", () => {
  it("returns pages of any size, and where the next one starts", async () => {
    const id = newId();
    // Some rows contain several events, so that pages end inside a row.
    await put(id, "a", 1);
    await ask(id, "Weather in NYC?");
    await call("DELETE", at(id));
    await put(id, "a", 1);
    const all = (await eventPage(id)).events;
    expect(await eventPage(id)).toEqual({ events: all });
    for (let limit = 1; limit <= all.length; limit++) {
      const found: ConversationEvent[] = [];
      for (let after: number | undefined = 0; after !== undefined;) {
        const page = await eventPage(id, `?after=${after}&limit=${limit}`);
        found.push(...page.events);
        expect(page.events.length).toBeLessThanOrEqual(limit);
        if (page.next !== undefined) expect(page.next).toBe(page.events.at(-1)?.id);
        after = page.next;
      }
      expect(found).toEqual(all);
    }
    for (let after = 0; after <= all.length + 1; after++) {
      expect((await eventPage(id, `?after=${after}`)).events).toEqual(all.slice(after));
    }
  });

  it("keeps about the newest ten thousand", async () => {
    const id = newId();
    await put(id, "a", 1);
    await fill(id, limits.maxEntries + 2_000);
    await runAlarm(id);
    const events = await eventsOf(id);
    expect(events.length).toBeGreaterThanOrEqual(limits.maxEntries);
    expect(events.length).toBeLessThanOrEqual(limits.maxEntries + 1_000);
    expect(events.at(-1)?.id).toBe(limits.maxEntries + 2_001);
    const [first] = events;
    expect(idsOf(events)).toEqual(upTo(events.length, first?.id));
  });
});

function never(): never {
  throw new Error("There is no event.");
}
