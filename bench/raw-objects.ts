import { DurableObject } from "cloudflare:workers";
import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import { answerTo, deltaOf, type Load, loadIn } from "./load.ts";
import { metered, type MeterEnv } from "./meter.ts";
import { pace } from "./scripted-model.ts";

/** Streams the same bytes at the same speed, or answers over a socket, and does nothing else. */
export class Raw extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade") === "websocket") return this.#accept();
    const { message } = await request.json<{ readonly message: string }>();
    const load = loadIn(message);
    const { deltas } = load;
    const paced = pace(load);
    const next = frame({ type: "text-delta", id: "t", delta: deltaOf(load, 0) });
    const encoder = new TextEncoder();
    let sent = -1;
    const bytes = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent >= 0 && sent < deltas) await paced(sent);
        controller.enqueue(
          encoder.encode(sent === -1 ? RAW_FIRST : sent < deltas ? next : RAW_LAST),
        );
        if (sent++ === deltas) controller.close();
      },
    });
    return new Response(bytes, { headers: UI_MESSAGE_STREAM_HEADERS });
  }

  override webSocketMessage(socket: WebSocket, message: string): void {
    socket.send(message);
  }

  /** Accepts a socket that stays open while the object hibernates. */
  #accept(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
}

function frame(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const RAW_FIRST = ["start", "start-step", "text-start"]
  .map((type) => frame({ type, id: "t" }))
  .join("");
const RAW_LAST = `${frame({ type: "text-end", id: "t" })}${frame({ type: "finish" })}data: [DONE]\n\n`;

/**
 * Streams the same frames at the same time, and stores the question before the first frame and the answer
 * before the last: the minimum of an object that loses nothing. Frames that are due together are sent
 * together.
 */
export class Rows extends DurableObject<MeterEnv> {
  constructor(state: DurableObjectState, env: MeterEnv) {
    super(metered(state, env), env);
  }

  override async fetch(request: Request): Promise<Response> {
    const { sql } = this.ctx.storage;
    if (request.method === "GET") {
      return Response.json({
        texts: sql
          .exec("SELECT text FROM message ORDER BY seq")
          .toArray()
          .map(({ text }) => text),
      });
    }
    const { message } = await request.json<{ readonly message: string }>();
    sql.exec("CREATE TABLE IF NOT EXISTS message (seq INTEGER PRIMARY KEY, role TEXT, text TEXT)");
    this.#add("user", message);
    await this.ctx.storage.sync();
    const load = loadIn(message);
    const encoder = new TextEncoder();
    const texts = this.#answer(load);
    const bytes = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value, done } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    });
    return new Response(bytes, { headers: UI_MESSAGE_STREAM_HEADERS });
  }

  async *#answer(load: Load): AsyncGenerator<string, void> {
    const paced = pace(load);
    let id = 1_000_000_000;
    const frame = (chunk: object) => `id: ${++id}\ndata: ${JSON.stringify(chunk)}\n\n`;
    yield FIRST.map(frame).join("");
    let text = "";
    for (let index = 0; index < load.deltas; index++) {
      const due = paced(index);
      if (due !== undefined) {
        if (text !== "") yield text;
        text = "";
        await due;
      }
      text += frame({ type: "text-delta", id: "t", delta: deltaOf(load, index) });
    }
    this.#add("assistant", answerTo(load));
    await this.ctx.storage.sync();
    yield `${text}${LAST.map(frame).join("")}data: [DONE]\n\n`;
  }

  #add(role: string, text: string): void {
    this.ctx.storage.sql.exec("INSERT INTO message (role, text) VALUES (?, ?)", role, text);
  }
}

/** The same frames as Byref's, so that the byte counts match. */
const FIRST = [
  { type: "start", messageId: "00000000-0000-4000-8000-000000000000" },
  { type: "start-step" },
  { type: "text-start", id: "t" },
];
const LAST = [{ type: "text-end", id: "t" }, { type: "finish-step" }, { type: "finish" }];
