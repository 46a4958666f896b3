import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { EventStreams } from "../../../src/edge/http/event-streams.ts";
import type { ConversationEvent } from "../../../src/turn/log/event-log.ts";
import { ask, call, json, newId, objectOf, put } from "../../support/edge.ts";
import { EventReader, eventsOf, idsOf, said, watchEvents } from "../../support/event-reader.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";

const at = (id: string, rest = "") => `/conversations/${id}/variables${rest}`;

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

  it("closes the stream of a slow reader, and of nobody else", async () => {
    const streams = new EventStreams();
    const happened: ConversationEvent[] = [];
    const list = ({ after }: { readonly after: number }) => ({ events: happened.slice(after) });
    const open = () => streams.open(list, { after: 0 });
    const [slow, quick] = [open(), new EventReader(open())];
    const reader = slow.body?.getReader();
    await reader?.read();
    const waiting = reader?.read();
    const event = { at: "", type: "turn.done", turn: "x".repeat(100_000) } as const;
    const first = quick.next();
    for (let id = 1; id <= 15; id++) {
      happened.push({ ...event, id });
      streams.publish(happened.slice(-1));
      expect((await (id === 1 ? first : quick.next()))?.id).toBe(id);
    }
    expect((await waiting)?.done).toBe(false);
    await expect(readAll(reader)).rejects.toThrow("too slowly");
    await quick.cancel();
  });
});

/** A turn's id. */
const ID: unknown = expect.stringMatching(/^[\w-]{36}$/);

async function watchIn(own: OwnRuntime): Promise<EventReader> {
  const init = { headers: { accept: "text/event-stream" } };
  return new EventReader(await own.call("GET", "/conversations/c/events", init));
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
  for (let read = await reader?.read(); read?.done === false;) read = await reader?.read();
}

function never(): never {
  throw new Error("There is no event.");
}
