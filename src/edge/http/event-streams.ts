import * as limits from "../../limits.ts";
import type { ConversationEvent, EventPage } from "../../turn/log/event-log.ts";

type ListEvents = (options: { readonly after: number; readonly limit: number }) => EventPage;

interface Opening {
  /** The id of the last event that the reader received. */
  readonly after: number;
  /** The id of the running turn. */
  readonly turn?: string | undefined;
}

/** Readers of a conversation's live events. The conversation need not exist yet. */
export class EventStreams {
  readonly #readers = new Set<EventReader>();

  /**
   * Streams the events after `after` as server-sent events, then new ones until the reader disconnects. A
   * reader that is too slow is disconnected, and continues from the last id that it received. A turn's events
   * are written when it ends, so a frame `turn`, without an id, announces a running turn.
   */
  open(list: ListEvents, opening: Opening): Response {
    const reader = new EventReader(list, opening);
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          reader.start(controller, () => this.#readers.delete(reader));
          this.#readers.add(reader);
        },
        // Older events are loaded as the reader consumes them; new events are sent at once.
        pull: () => reader.replay(),
        cancel: () => reader.stop(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    });
  }

  /** Announces a new turn. */
  begin(turn: string): void {
    for (const reader of this.#readers) reader.begin(turn);
  }

  /** Sends newly written events. */
  publish(events: readonly ConversationEvent[]): void {
    for (const reader of this.#readers) reader.publish(events);
  }

  /** Ends all streams, because the conversation was deleted. */
  end(): void {
    for (const reader of this.#readers) reader.end();
  }
}

class EventReader {
  readonly #list: ListEvents;
  readonly #encoder = new TextEncoder();
  readonly #turn: string | undefined;
  #last: number;
  /** False while there are older events to send. */
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
    // The headers are sent with the first bytes.
    this.#send(": events\n\n");
    if (this.#turn !== undefined) this.begin(this.#turn);
  }

  begin(turn: string): void {
    this.#send(`event: turn\ndata: ${JSON.stringify({ turn })}\n\n`);
  }

  /** Sends the next page of older events; live ones follow the last page. */
  replay(): void {
    if (this.#isLive) return;
    const { events, next } = this.#list({ after: this.#last, limit: limits.maxPageSize });
    this.#isLive = next === undefined;
    this.#sendEvents(events);
  }

  /** If there are many events, sends the first page now, and the others as the client reads. */
  publish(events: readonly ConversationEvent[]): void {
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
    if ((controller.desiredSize ?? 0) > -limits.maxRecordBytes) {
      controller.enqueue(this.#encoder.encode(text));
      return;
    }
    controller.error(new Error("The client reads the events too slowly."));
    this.stop();
  }
}

function frame(event: ConversationEvent): string {
  return `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
}
