/**
 * The example with additions for its test: a view into its tables, a variable that expires soon, and a copy of its
 * variables.
 */
import { getAgentByName } from "agents";
import { Output } from "ai";
import { z } from "zod";
import type { ChatResponseResult, ChunkContext, StepContext } from "@cloudflare/think";
import { inspect, textOf } from "../agents-sdk/inspect.ts";
import worker, { Thinker as ExampleThinker } from "./thinker.ts";

export default worker;

/** What the agent's own hooks received of its answers. */
const hooks: Record<string, string[]> = { chunks: [], steps: [], responses: [] };

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
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/ask")) return Response.json(await this.#ask());
    if (pathname.endsWith("/object")) return Response.json(await this.#object());
    if (pathname.endsWith("/hooks")) return Response.json(hooks);
    const open = (name: string) => getAgentByName(this.env.Thinker, name);
    const inspected = await inspect(this, this.ctx.storage, request, open);
    return inspected ?? super.onRequest(request);
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
}
