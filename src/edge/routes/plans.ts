import type { Context } from "hono";
import { Hono } from "hono/tiny";
import * as z from "zod";
import type { FrontEnd } from "../../plan/front-end.ts";
import { anyJson } from "../../tool/tool-input.ts";
import type { AppEnv } from "../app-env.ts";
import {
  mediaTypeOf,
  parseJson,
  readText,
  requireJsonType,
  unsupportedType,
} from "../http/read-body.ts";
import { requireId } from "../conversation-name.ts";
import { boundedJson } from "../http/message-size.ts";
import { parse } from "../http/parse.ts";
import { handOver } from "./hand-over.ts";

/** `POST …/plans/:plan/run`. */
export const runBody = z.strictObject({ input: anyJson.optional(), keep: z.boolean().optional() });

/** The plans of a conversation, and their runs. */
export function planRoutes(frontEnds: readonly FrontEnd[]) {
  const routes = new Hono<AppEnv>();

  routes.post("/:id/plans", async (context) => {
    const type = mediaTypeOf(context.req.raw)?.essence ?? "";
    const frontEnd = frontEnds.find(({ mediaTypes }) => mediaTypes.includes(type));
    if (frontEnd === undefined) {
      const known = frontEnds.flatMap(({ mediaTypes }) => mediaTypes).join(", ");
      throw unsupportedType(context.req.raw, `a plan is ${known}.`);
    }
    const { format } = frontEnd;
    const text = await readText(context);
    const { agent } = context.req.query();
    return ask(context, "", boundedJson({ format, text, agent }));
  });

  routes.get("/:id/plans", (context) => ask(context, ""));
  routes.get("/:id/plans/:plan", (context) => ask(context, planIn(context)));

  routes.post("/:id/plans/:plan/approve", (context) =>
    ask(context, `${planIn(context)}/approve`, "{}"),
  );

  routes.post("/:id/plans/:plan/cancel", (context) =>
    ask(context, `${planIn(context)}/cancel`, "{}"),
  );

  routes.post("/:id/plans/:plan/run", async (context) => {
    const asked = parse(runBody, await bodyOf(context));
    const body = boundedJson({ ...asked, conversation: requireId(context.req.param("id")) });
    return ask(context, `${planIn(context)}/run`, body);
  });

  return routes;
}

function planIn(context: Context<AppEnv>): string {
  return encodeURIComponent(context.req.param("plan") ?? "");
}

/** Without a body: nothing is said. */
async function bodyOf(context: Context<AppEnv>) {
  const text = await readText(context);
  if (text === "") return {};
  requireJsonType(context.req.raw);
  return parseJson(text);
}

function ask(context: Context<AppEnv>, path: string, body?: string): Promise<Response> {
  return handOver(context, { id: context.req.param("id") ?? "", path: `plans/${path}`, body });
}
