import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app.ts";
import { conversationOf } from "../conversation-of.ts";
import {
  approvalBody,
  approvalOf,
  chatBody,
  idempotencyKey,
  messageBody,
  pageSize,
  parse,
  parseMessage,
  requireId,
  textOf,
  turnIn,
  type TurnRequest,
} from "../requests.ts";
import { readChat, readJson } from "../http/read-body.ts";
import { traceHeaders } from "../telemetry/trace-parent.ts";

/** Turns and messages. */
export function messageRoutes() {
  const routes = new Hono<AppEnv>();

  routes.post("/", async (context) => {
    const body = parse(chatBody, await readChat(context));
    return runTurn(context, body.id, turnIn(body));
  });

  routes.post("/:id/messages", async (context) => {
    const body = parse(messageBody, await readJson(context));
    const { agent, input } = body;
    const turn = { agent, input, message: parseMessage(body.message) };
    return runTurn(context, context.req.param("id"), turn);
  });

  routes.post("/:id/approvals/:approval", async (context) => {
    const decision = parse(approvalBody, await readJson(context));
    const approvals = [approvalOf(context.req.param("approval"), decision)];
    return runTurn(context, context.req.param("id"), { approvals, run: decision.run });
  });

  routes.get("/:id/messages", async (context) => {
    const { limit, before, form = "display" } = context.req.query();
    if (form !== "display" && form !== "reference") {
      throw new ByrefError("bad_request", "form must be display or reference.");
    }
    const page = await conversationOf(context, context.req.param("id")).readMessages({
      limit: pageSize(limit),
      form,
      ...(before === undefined ? {} : { before }),
    });
    return context.json(page);
  });

  return routes;
}

/** Hands the turn to its conversation; only what a turn needs goes there. */
async function runTurn(context: Context<AppEnv>, id: string, turn: TurnRequest) {
  const key = parse(idempotencyKey, context.req.header("idempotency-key"), "Idempotency-Key");
  const body = textOf({ ...turn, conversation: requireId(id), idempotencyKey: key });
  const accept = context.req.header("accept") ?? "text/event-stream";
  const response = await conversationOf(context, id).fetch("http://conversation/turn", {
    method: "POST",
    headers: { ...traceHeaders(context.req.raw), accept, "content-type": "application/json" },
    body,
  });
  // A response from another place has headers that cannot be added to.
  return new Response(response.body, response);
}
