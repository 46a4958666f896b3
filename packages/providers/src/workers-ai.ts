import type { json } from "../../../src/internal.ts";
import { StreamingToolCallTracker } from "@ai-sdk/provider-utils";
import { createWorkersAI } from "workers-ai-provider";
import { ByrefError } from "../../../src/errors.ts";
import { StreamCutOff } from "../../../src/internal-tool.ts";
import type { appEnv } from "../../../src/internal-edge.ts";
import { Completion } from "./completions.ts";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import { errorIn, type EventReader, readEvents } from "./streamed-events.ts";

/**
 * `workers-ai:<model>`: Cloudflare's own models, through the binding `AI`. The repository's wrangler.toml
 * does not declare the binding: it has no local version, so local development would require an account. To
 * use it, add `[ai]` with `binding = "AI"`.
 */
export const workersAiModels: ModelProvider = {
  name: "workers-ai",
  model(id, _settings, env) {
    const { AI: binding }: Partial<appEnv.Bindings> = env;
    if (binding === undefined) {
      throw new ByrefError(
        "bad_configuration",
        'A workers-ai model needs the binding AI. Add [ai] binding = "AI" to wrangler.toml.',
      );
    }
    const run = async (...args: Parameters<Ai["run"]>) => {
      const answer: unknown = await binding.run(...args);
      return answer instanceof ReadableStream ? readEvents(answer, new Answer()) : answer;
    };
    return createWorkersAI({ binding: Object.create(binding, { run: { value: run } }) })(id);
  },
};

/**
 * Reads the stream of a model. Its provider joins calls that have the same index, or none, and ignores errors. So calls
 * are sent on when they are complete, each with an index of its own.
 */
class Answer implements EventReader {
  readonly #calls: json.JsonObject[] = [];
  readonly #tracker = new StreamingToolCallTracker({
    enqueue: (part) => {
      if (part?.type !== "tool-call") return;
      const { toolCallId: id, toolName: name, input } = part;
      const index = this.#calls.length;
      this.#calls.push({ id, index, type: "function", function: { name, arguments: input } });
    },
  });
  readonly #completion = new Completion((call) => this.#tracker.processDelta(call));

  get hasReason(): boolean {
    return this.#completion.hasReason;
  }

  readonly read = (chunk: json.JsonObject): readonly json.JsonObject[] => {
    const { response, tool_calls: calls, ...others } = chunk;
    // The older form of Cloudflare. Some models send both.
    const delta = { content: response ?? "", tool_calls: calls ?? [] };
    const isOlder = response !== undefined || calls !== undefined;
    const older = isOlder ? { choices: [{ delta }] } : {};
    const events = this.#completion.read({ ...older, ...others });
    for (const failure of events.flatMap((event) => errorIn(event) ?? []))
      throw Object.assign(new Error(), failure);
    return events;
  };

  readonly end = (isSaid: boolean): readonly json.JsonObject[] => {
    const { hasSaid, hasReason } = this.#completion;
    // The provider would take it for an empty answer.
    if (!hasSaid && !hasReason) throw new StreamCutOff();
    this.#tracker.flush();
    const last = this.#completion.end(isSaid);
    if (this.#calls.length === 0) return last;
    return [{ choices: [{ index: 0, delta: { tool_calls: this.#calls } }] }, ...last];
  };
}
