/**
 * The example with additions for its test: a view into its tables, a variable that expires soon, and a copy of its
 * variables.
 */
import type { ChatResponseResult } from "@cloudflare/ai-chat";
import { getAgentByName } from "agents";
import worker, { Chat as ExampleChat } from "./chat.ts";

export default worker;

/** What the agent's own hooks received of its answers. */
const hooks: Record<string, string[]> = { responses: [], messages: [] };

function textOf({ parts }: { parts: readonly { type: string; text?: string }[] }): string {
  return parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}

/** The other object, as this class. */
interface Copy {
  importVariables(file: ReadableStream<Uint8Array>): Promise<void>;
}

export class Chat extends ExampleChat {
  override onChatResponse({ message }: ChatResponseResult) {
    hooks.responses?.push(textOf(message));
    hooks.messages?.push(...this.messages.map(textOf));
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
    if (pathname.endsWith("/hooks")) return Response.json(hooks);
    if (!pathname.endsWith("/copy")) return super.onRequest(request);
    // The binding has this class instead of the example's.
    const found: unknown = await getAgentByName(this.env.Chat, searchParams.get("to") ?? "");
    const other = found as Copy;
    await this.variables.fork((file) => other.importVariables(file));
    return new Response("Copied");
  }

  async importVariables(file: ReadableStream<Uint8Array>): Promise<void> {
    await this.variables.import(file);
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
