import * as limits from "../../limits.ts";
import type { EventPage } from "../../turn/log/event-log.ts";
import { streamOf } from "../../value/bytes.ts";
import { News } from "../../value/news.ts";

/** Headers of a response that is read while it is made: a proxy (nginx) that held or compressed it would delay it. */
export const LIVE = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

type ListEvents = (options: { readonly after: number; readonly limit: number }) => EventPage;

/** `turns`: those that were not announced to it yet. */
type Reader = { readonly turns: string[]; isOver: boolean };

/** Readers of a conversation's live events. The conversation need not exist yet. */
export class EventStreams {
  readonly #readers = new Set<Reader>();
  readonly #news = new News();

  /**
   * Streams the events after the id `after` as server-sent events, then new ones until the reader disconnects. Events are
   * listed as the reader takes them, so that a slow one holds nothing in memory. A turn's events are written when it
   * ends, so a frame `turn`, without an id, announces a running turn, first of all `turn`.
   */
  async open(list: ListEvents, after: number, turn: string | undefined): Promise<Response> {
    const reader = { turns: turn === undefined ? [] : [turn], isOver: false };
    const frames = this.#frames(reader, list, after);
    return new Response(streamOf(frames, await frames.next()), {
      headers: { "content-type": "text/event-stream", ...LIVE },
    });
  }

  begin(turn: string): void {
    for (const { turns } of this.#readers) turns.push(turn);
    this.#news.announce();
  }

  /** Call this when events were written. */
  announce(): void {
    this.#news.announce();
  }

  /** Ends all streams, because the conversation was deleted. */
  end(): void {
    for (const reader of this.#readers) reader.isOver = true;
    this.#news.end();
  }

  async *#frames(reader: Reader, list: ListEvents, after: number) {
    const encoder = new TextEncoder();
    this.#readers.add(reader);
    try {
      // The headers are sent with the first bytes.
      yield encoder.encode(": events\n\n");
      for (let last = after; !reader.isOver;) {
        const { events } = list({ after: last, limit: limits.maxPageSize });
        const frames = [
          ...reader.turns.splice(0).map((turn) => `event: turn\ndata: {"turn":"${turn}"}\n\n`),
          ...events.map((event) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`),
        ];
        last = events.at(-1)?.id ?? last;
        if (frames.length > 0) yield encoder.encode(frames.join(""));
        else if (!(await this.#news.wait(limits.keepAliveMs)))
          yield encoder.encode(": waiting\n\n");
      }
    } finally {
      this.#readers.delete(reader);
    }
    return undefined;
  }
}
