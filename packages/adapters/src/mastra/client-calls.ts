import type { ModelMessage } from "ai";
import { withAnswerParts } from "../agent/expand-answer.ts";
import type { Call } from "../agent/own-tool.ts";
import type { Chunk } from "./mastra-agent.ts";
import { allOf, type Policy } from "../../../../src/runtime.ts";
import { Recent } from "../../../../src/internal.ts";
import type { Run } from "./run.ts";

/** A client's tool must not receive guarded values, because the model receives its result unchanged. */
const noGuarded: Policy = ({ tool, references }) => {
  const guarded = references.find(({ visibility }) => visibility !== "model");
  if (guarded === undefined) return "allow";
  return { deny: `${tool} runs at the client, which may not receive $${guarded.name}.` };
};

/** Returns the policy of a tool that the client executes. */
export function clientPolicy(own: Policy | undefined): Policy {
  return own === undefined ? noGuarded : allOf(own, noGuarded);
}

/**
 * Calls that the client executes. It receives the resolved input, and sends it back with its result: the
 * model is shown what it wrote. The oldest are forgotten.
 */
export class ClientCalls {
  readonly #written = new Recent<{ readonly input: unknown }>();

  /**
   * Returns the call with its references resolved. A call that must not run, or that needs a person's approval,
   * stays unchanged, and is followed by its error.
   */
  async resolved(chunk: Chunk, run: Run): Promise<readonly Chunk[]> {
    const { toolCallId, toolName, args } = chunk.payload ?? {};
    const tool = run.clientTools.get(String(toolName));
    if (tool === undefined) return [chunk];
    const call = { toolCallId: String(toolCallId), messages: [], context: {} };
    const { prepared } = await tool.prepare(args, call as unknown as Call);
    if (prepared.kind === "ready" && prepared.approval === undefined) {
      this.#written.set(call.toolCallId, { input: args });
      return [{ ...chunk, payload: { ...chunk.payload, args: prepared.input } }];
    }
    const error =
      prepared.kind === "failed"
        ? `${prepared.code}: ${prepared.message}`
        : `approval_required: ${prepared.approval?.reason ?? ""}`;
    const payload = { toolCallId, toolName, args, error };
    return [chunk, { ...chunk, type: "tool-error", payload }];
  }

  /** Returns the messages with the inputs as the model wrote them. */
  asWritten(messages: readonly ModelMessage[]): ModelMessage[] {
    return withAnswerParts(messages, (part) =>
      part.type === "tool-call" ? { ...part, ...this.#written.get(part.toolCallId) } : part,
    );
  }
}
