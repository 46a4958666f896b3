import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { ByrefError } from "../../errors.ts";
import type { AppEnv } from "../app-env.ts";
import { conversationOf } from "../conversation-of.ts";
import { requireId } from "../conversation-name.ts";
import { isObject } from "../../value/json.ts";
import { boundedJson } from "../http/message-size.ts";
import { pageSize, parse } from "../http/parse.ts";
import {
  approvalBody,
  approvalOf,
  chatBody,
  idempotencyKey,
  messageBody,
  parseMessage,
  requireFewParts,
  turnIn,
  type TurnRequest,
} from "../turns/turn-request.ts";
import { readChat, readJson } from "../http/read-body.ts";
import { handOver } from "./hand-over.ts";

/** Turns and messages. */
export function messageRoutes() {
  const routes = new Hono<AppEnv>();

  routes.post("/", async (context) => {
    const body = parse(chatBody, await readChat(context));
    return runTurn(context, body.id, turnIn(body));
  });

  routes.post("/:id/messages", async (context) => {
    const given = await readJson(context);
    requireFewParts(isObject(given) ? given.message : undefined);
    const body = parse(messageBody, given);
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
    const page = await conversationOf(context).readMessages({
      limit: pageSize(limit),
      form,
      ...(before === undefined ? {} : { before }),
    });
    return context.json(page);
  });

  return routes;
}

/** Hands the turn to its conversation; only what a turn needs goes there. */
function runTurn(context: Context<AppEnv>, id: string, turn: TurnRequest): Promise<Response> {
  const key = parse(idempotencyKey, context.req.header("idempotency-key"), "Idempotency-Key");
  const body = boundedJson({ ...turn, conversation: requireId(id), idempotencyKey: key });
  return handOver(context, { id, path: "turn", body });
}
