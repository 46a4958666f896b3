import * as limits from "../../limits.ts";
import type { ConversationEvent, EventPage } from "../../turn/log/event-log.ts";

type ListEvents = (options: { readonly after: number; readonly limit: number }) => EventPage;

interface Opening {
  /** The id of the last event that the reader has. */
  readonly after: number;
  /** The id of the running turn. */
  readonly turn?: string | undefined;
}

/** Those who read a conversation's events as they happen; it need not be there yet. */
export class EventStreams {
  readonly #readers = new Set<EventReader>();

  /**
   * The events above `after` as server-sent events, then those to come, for as long as somebody reads.
   * A reader that is too slow is disconnected, and continues from the last id that it has. The events of a
   * turn are written when it ends, so a frame `turn`, without an id, says that one runs.
   */
  open(list: ListEvents, opening: Opening): Response {
    const reader = new EventReader(list, opening);
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          reader.start(controller, () => this.#readers.delete(reader));
          this.#readers.add(reader);
        },
        // What was there before is read as it is sent; what happens now does not wait.
        pull: () => reader.replay(),
        cancel: () => reader.stop(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    });
  }

  /** A turn begins. */
  begin(turn: string): void {
    for (const reader of this.#readers) reader.begin(turn);
  }

  /** Events that have just been written. */
  show(events: readonly ConversationEvent[]): void {
    for (const reader of this.#readers) reader.show(events);
  }

  /** There is nothing any more that could happen. */
  end(): void {
    for (const reader of this.#readers) reader.end();
  }
}

class EventReader {
  readonly #list: ListEvents;
  readonly #encoder = new TextEncoder();
  readonly #turn: string | undefined;
  #last: number;
  /** False as long as there are older events that were not sent. */
  #isLive = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #onStop: () => void = () => undefined;

  constructor(list: ListEvents, { after, turn }: Opening) {
    this.#list = list;
    this.#turn = turn;
    this.#last = after;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>, onStop: () => void): void {
    this.#controller = controller;
    this.#onStop = onStop;
    this.#timer = setInterval(() => this.#send(": waiting\n\n"), limits.keepAliveMs);
    // Headers leave with the first bytes.
    this.#send(": events\n\n");
    if (this.#turn !== undefined) this.begin(this.#turn);
  }

  begin(turn: string): void {
    this.#send(`event: turn\ndata: ${JSON.stringify({ turn })}\n\n`);
  }

  /** Sends the next of the older events; live ones follow the last of them. */
  replay(): void {
    if (this.#isLive) return;
    const { events, next } = this.#list({ after: this.#last, limit: limits.maxPageSize });
    this.#isLive = next === undefined;
    this.#sendEvents(events);
  }

  /** Of many at once the reader gets the first page now, and the others as it reads. */
  show(events: readonly ConversationEvent[]): void {
    if (!this.#isLive) return;
    if (events.length <= limits.maxPageSize) {
      return this.#sendEvents(events.filter(({ id }) => id > this.#last));
    }
    this.#isLive = false;
    this.replay();
  }

  end(): void {
    this.#controller?.close();
    this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#controller = undefined;
    this.#onStop();
  }

  #sendEvents(events: readonly ConversationEvent[]): void {
    if (events.length === 0) return;
    this.#last = events.at(-1)?.id ?? this.#last;
    this.#send(events.map(frame).join(""));
  }

  #send(text: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if ((controller.desiredSize ?? 0) > -limits.maxEventBacklogBytes) {
      controller.enqueue(this.#encoder.encode(text));
      return;
    }
    controller.error(new Error("The events are read too slowly."));
    this.stop();
  }
}

function frame(event: ConversationEvent): string {
  return `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
}
