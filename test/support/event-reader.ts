import { expect } from "vitest";
import { type ConversationEvent } from "../../src/turn/log/event-log.ts";
import { call } from "./edge.ts";

/** What keeps proxies from holding a response (nginx/nginx#1505) or compressing it (Azure/fetch-event-source#79). */
export const LIVE = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

/** Reads a stream of server-sent events one by one. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";
  /** Ids of turns that ran when the reader started, or began later. */
  readonly turns: string[] = [];

  constructor(response: Response) {
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(Object.fromEntries(response.headers)).toMatchObject(LIVE);
    if (response.body === null) throw new Error("There is no body.");
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Returns the next event, or undefined when the stream has ended. */
  async next(): Promise<ConversationEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const frame = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const [, turn] = /^event: turn\ndata: {"turn":"([^"]+)"}$/.exec(frame) ?? [];
        if (turn !== undefined) this.turns.push(turn);
        else if (!frame.startsWith(":")) return eventIn(frame);
        continue;
      }
      const read = await this.#reader.read();
      if (read.done) {
        expect(this.#text).toBe("");
        return undefined;
      }
      this.#text += read.value;
    }
  }

  /** Reads a number of events. */
  async take(count: number): Promise<readonly ConversationEvent[]> {
    const events: ConversationEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) break;
      events.push(event);
    }
    return events;
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

function eventIn(frame: string): ConversationEvent {
  const [, id, data = ""] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? [];
  const event = JSON.parse(data) as ConversationEvent;
  expect(Number(id)).toBe(event.id);
  return event;
}

/** Reads the events of a conversation as they happen. */
export async function watchEvents(
  id: string,
  query = "",
  headers: Readonly<Record<string, string>> = {},
): Promise<EventReader> {
  const init = { headers: { accept: "text/event-stream", ...headers } };
  return new EventReader(await call("GET", `/conversations/${id}/events${query}`, init));
}

type EventPage = { readonly events: readonly ConversationEvent[]; readonly next?: number };

export async function eventPage(id: string, query = ""): Promise<EventPage> {
  const response = await call("GET", `/conversations/${id}/events${query}`);
  expect(response.status).toBe(200);
  return response.json<EventPage>();
}

/** Reads all events, page by page. */
export async function eventsOf(id: string): Promise<readonly ConversationEvent[]> {
  const events: ConversationEvent[] = [];
  for (let next: number | undefined = 0; next !== undefined;) {
    const page: EventPage = await eventPage(id, `?after=${next}`);
    events.push(...page.events);
    next = page.next;
  }
  return events;
}

export function idsOf(events: readonly ConversationEvent[]): readonly number[] {
  return events.map(({ id }) => id);
}

/** Describes each event in one line: type, variable, tool, reason and code. */
export function said(events: readonly ConversationEvent[]): readonly string[] {
  return events.map(({ type, variable, tool, reason, code }) =>
    [type, variable?.name, tool, reason, code].filter((word) => word !== undefined).join(" "),
  );
}
