import { DurableObject } from "cloudflare:workers";
import { tool, UI_MESSAGE_STREAM_HEADERS } from "ai";
import * as z from "zod";
import { createRuntime } from "../src/byref.ts";
import { answerTo, deltaOf, type Load, loadIn } from "./load.ts";
import { pace, pacedModel } from "./paced-model.ts";

/** One Worker, two objects that answer the same question and keep it: ours, and one that does only that. */

interface Env extends Cloudflare.Env {
  readonly ROWS: DurableObjectNamespace<Rows>;
}

/**
 * The same frames at the same time, the question on disk before the first of them, the answer before the
 * last: what any object must do that loses nothing. Frames that are due together leave together.
 */
export class Rows extends DurableObject {
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

/** As ours are, so that as many bytes leave. */
const FIRST = [
  { type: "start", messageId: "00000000-0000-4000-8000-000000000000" },
  { type: "start-step" },
  { type: "text-start", id: "t" },
];
const LAST = [{ type: "text-end", id: "t" }, { type: "finish-step" }, { type: "finish" }];

const KIBIBYTE = "0123456789abcdef".repeat(64);

const runtime = createRuntime({
  model: pacedModel,
  agents: [
    { name: "bench", description: "Says words.", instructions: "Say words.", tools: {} },
    {
      name: "looker",
      description: "Looks things up, then says words.",
      instructions: "Say words.",
      tools: {
        look_up: tool({
          description: "Says a kilobyte about a thing.",
          inputSchema: z.object({ about: z.string() }),
          execute: ({ about }) => ({ about, said: KIBIBYTE }),
        }),
      },
      effects: { look_up: "none" },
    },
  ],
});

export class Conversation extends runtime.Conversation {}

export default {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> {
    const [, kind, name = ""] = new URL(request.url).pathname.split("/");
    if (kind === "rows") return env.ROWS.get(env.ROWS.idFromName(name)).fetch(request);
    return runtime.worker.fetch(request, env, context);
  },
};
