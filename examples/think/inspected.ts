/**
 * The example with additions for its test: a view into its tables, a variable that expires soon, and a copy of its
 * variables.
 */
import { getAgentByName } from "agents";
import { Output } from "ai";
import { z } from "zod";
import type { ChatResponseResult, ChunkContext, StepContext } from "@cloudflare/think";
import worker, { Thinker as ExampleThinker } from "./thinker.ts";

export default worker;

/** What the agent's own hooks received of its answers. */
const hooks: Record<string, string[]> = { chunks: [], steps: [], responses: [] };

function textOf({ parts }: { parts: readonly { type: string; text?: string }[] }): string {
  return parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}

/** The other object, as this class. */
interface Copy {
  importVariables(file: ReadableStream<Uint8Array>): Promise<void>;
}

const city = z.object({ city: z.string(), total: z.number() });

export class Thinker extends ExampleThinker {
  override onChunk({ chunk }: ChunkContext) {
    if (chunk.type === "text-delta") hooks.chunks?.push(chunk.text);
  }

  override onStepFinish({ text }: StepContext) {
    hooks.steps?.push(text);
  }

  override onChatResponse({ message }: ChatResponseResult) {
    hooks.responses?.push(textOf(message));
  }

  override async onRequest(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/tables")) return Response.json(this.#tables());
    if (pathname.endsWith("/names")) return Response.json(this.#names());
    if (pathname.endsWith("/schedules")) return Response.json(await this.listSchedules());
    if (pathname.endsWith("/brief")) {
      await this.variables.store.save({ name: "brief", value: 1, ttlMs: 500 });
      return new Response("Saved");
    }
    if (pathname.endsWith("/ask")) return Response.json(await this.#ask());
    if (pathname.endsWith("/object")) return Response.json(await this.#object());
    if (pathname.endsWith("/hooks")) return Response.json(hooks);
    if (!pathname.endsWith("/copy")) return super.onRequest(request);
    // The binding has this class instead of the example's.
    const found: unknown = await getAgentByName(this.env.Thinker, searchParams.get("to") ?? "");
    const other = found as Copy;
    await this.variables.fork((file) => other.importVariables(file));
    return new Response("Copied");
  }

  async importVariables(file: ReadableStream<Uint8Array>): Promise<void> {
    await this.variables.import(file);
  }

  /** Asks as another agent does. Returns the events that it gets. */
  async #ask(): Promise<readonly string[]> {
    const events: string[] = [];
    const ignored = () => undefined;
    await this.chat("Where does order 3 go?", {
      onStart: ignored,
      onEvent: (event) => void events.push(event),
      onDone: ignored,
      onError: ignored,
    });
    return events;
  }

  /** Asks for a structured answer. Returns it, and the text that was stored. */
  async #object() {
    const output = this.variables.output(Output.object({ schema: city }));
    Reflect.set(this, "beforeTurn", () => ({ output }));
    const turn = await this.runTurn({ input: "Where does order 3 go?" });
    return { output: turn.output, text: turn.message && textOf(turn.message) };
  }

  #names(): readonly string[] {
    return this.variables.store.list().map(({ name }) => name);
  }

  /** The rows of each table, as JSON. */
  #tables(): Readonly<Record<string, readonly string[]>> {
    const { sql } = this.ctx.storage;
    const tables = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const names = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf"));
    const rowsOf = (name: string) => sql.exec(`SELECT * FROM "${name}"`).toArray();
    return Object.fromEntries(
      names.map((name) => [name, rowsOf(name).map((row) => JSON.stringify(row))]),
    );
  }
}
