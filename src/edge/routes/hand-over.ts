import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { conversationOf } from "../conversation-of.ts";
import { passedOn } from "../http/passed-on.ts";
import { traceHeaders } from "../telemetry/trace.ts";

export interface HandedOver {
  readonly id: string;
  /** Inside of the object. */
  readonly path: string;
  /** JSON; without it the conversation is asked with a GET. */
  readonly body?: string | undefined;
}

/** What a conversation answers to something that the Worker has checked, in the form that `Accept` asks for. */
export async function handOver(
  context: Context<AppEnv>,
  { id, path, body }: HandedOver,
): Promise<Response> {
  const { req } = context;
  const accept = req.header("accept") ?? "text/event-stream";
  const response = await conversationOf(context, id).fetch(`http://conversation/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...traceHeaders(req.raw), accept, "content-type": "application/json" },
    body: body ?? null,
  });
  return passedOn(response);
}
