import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import { ask, call, json, newId, objectOf, put } from "../support/edge.ts";
import {
  eventPage,
  eventsOf,
  idsOf,
  said,
  EventReader,
  watchEvents,
} from "../support/event-reader.ts";
import { withRuntime, type OwnRuntime } from "../support/own-runtime.ts";
import { rowsIn } from "../support/storage.ts";
import { anyBytes, putAs } from "../support/values.ts";
import { EventStreams } from "../../src/edge/http/event-streams.ts";
import { haltedTurn } from "../support/halted-turn.ts";

const at = (id: string, rest = "") => `/conversations/${id}/variables${rest}`;

describe("events", () => {
  const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, id) => id + from);

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

  it("GET events as JSON returns pages of any size, and where the next one starts", async () => {
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
    for (let after = 0; after <= all.length; after++) {
      expect((await eventPage(id, `?after=${after}`)).events).toEqual(all.slice(after));
    }
    // Read before the conversation was deleted, and began anew (Hal0ai/hal0#785).
    expect((await eventPage(id, `?after=${all.length + 1}`)).events).toEqual(all);
  });
});

describe("GET events as a stream", () => {
  it("sends past events, then new ones, to every reader", async () => {
    const id = newId();
    await put(id, "a", 1);
    await put(id, "b", 1);
    const readers = [
      await watchEvents(id),
      await watchEvents(id, "?after=1"),
      await watchEvents(id, "", { "last-event-id": "2" }),
      // A browser that reconnects uses its first URL.
      await watchEvents(id, "?after=0", { "last-event-id": "1" }),
    ];
    const pasts = await Promise.all(
      readers.map((reader, index) => reader.take([2, 1, 0, 1][index] ?? 0)),
    );
    expect(pasts.map(idsOf)).toEqual([[1, 2], [2], [], [2]]);
    const [left] = readers;
    await left?.cancel();
    const coming = readers.slice(1).map((reader) => reader.take(6));
    await ask(id, "Weather in NYC?");
    await call("DELETE", at(id, "/a"));
    const all = await eventsOf(id);
    for (const events of await Promise.all(coming)) expect(events).toEqual(all.slice(2));
    expect(all).toHaveLength(8);
    for (const reader of readers.slice(1)) await reader.cancel();
  });

  it("resumes where it broke off, across an eviction", async () => {
    const id = newId();
    await put(id, "a", 1);
    const before = await watchEvents(id);
    const [last] = await before.take(1);
    await before.cancel();
    await put(id, "b", 1);
    await evictDurableObject(objectOf(id));
    await put(id, "c", 1);
    const after = await watchEvents(id, "", { "last-event-id": String(last?.id) });
    expect(said(await after.take(2))).toEqual(["variable.saved b", "variable.saved c"]);
    const next = after.next();
    await put(id, "d", 1);
    expect(said([(await next) ?? never()])).toEqual(["variable.saved d"]);
    await after.cancel();
  });

  it("reports a running turn, although its events are written when it ends", async () => {
    const { open, reached, options } = haltedTurn();
    await withRuntime(options, async (own) => {
      await own.call("PUT", at("c", "/a"), json(1));
      const early = await watchIn(own);
      await early.take(1);
      const first = early.next();
      const turn = own.call("POST", "/conversations/c/messages", json({ message: "Hi" }));
      await reached;
      const late = await watchIn(own);
      await late.take(1);
      const next = late.next();
      await vi.waitFor(() => expect([early.turns, late.turns]).toEqual([[ID], [ID]]));
      open();
      await (await turn).text();
      for (const event of [await first, await next]) {
        expect(event).toMatchObject({ id: 2, type: "turn.started", turn: early.turns[0] });
      }
      const after = await watchIn(own);
      await after.take(2);
      expect([early.turns, after.turns]).toEqual([[ID], []]);
      for (const reader of [early, late, after]) await reader.cancel();
    });
  });

  it("lets a slow reader read on, and nobody wait for it", async () => {
    const streams = new EventStreams();
    const happened: ConversationEvent[] = [];
    const list = ({ after }: { readonly after: number }) => ({ events: happened.slice(after) });
    const open = async () => new EventReader(await streams.open(list, 0, undefined));
    const [slow, quick] = [await open(), await open()];
    const event = { at: "", type: "turn.done", turn: "x".repeat(100_000) } as const;
    for (let id = 1; id <= 15; id++) {
      const next = quick.next();
      happened.push({ ...event, id });
      streams.announce();
      expect((await next)?.id).toBe(id);
    }
    expect(idsOf(await slow.take(15))).toEqual(idsOf(happened));
    for (const reader of [slow, quick]) await reader.cancel();
  });
});

/** A turn's id. */
const ID: unknown = expect.stringMatching(/^[\w-]{36}$/);

async function watchIn(own: OwnRuntime): Promise<EventReader> {
  const init = { headers: { accept: "text/event-stream" } };
  return new EventReader(await own.call("GET", "/conversations/c/events", init));
}

function never(): never {
  throw new Error("There is no event.");
}
