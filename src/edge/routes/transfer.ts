import type { Context } from "hono";
import { Hono } from "hono/tiny";
import * as z from "zod";
import { ByrefError, codeOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { conversationOf, importOf, type RemoteConversation } from "../conversation-of.ts";
import { passedOn } from "../http/passed-on.ts";
import { readJson } from "../http/read-body.ts";
import { requireId } from "../conversation-name.ts";
import { parse, wholeNumberIn } from "../http/parse.ts";
import { withEnd } from "../http/whole-body.ts";

/** `POST …/fork`. */
export const forkBody = z.strictObject({ id: z.string().optional() });

/** A conversation that changes while it is copied is copied again, so many times. */
const MAX_TRIES = 3;

/** Conversations out, in, and beside themselves. */
export function transferRoutes() {
  const routes = new Hono<AppEnv>();

  routes.get("/:id/export", async (context) => {
    const id = context.req.param("id");
    const response = await exportFrom(conversationOf(context), id);
    const headers = new Headers(response.headers);
    if (response.ok) {
      headers.set("content-disposition", `attachment; filename="${id}.ndjson"`);
    }
    return new Response(response.body, { status: response.status, headers });
  });

  routes.post("/:id/fork", async (context) => {
    const source = context.req.param("id");
    const body = context.req.header("content-type") === undefined ? {} : await readJson(context);
    const { id = crypto.randomUUID() } = parse(forkBody, body);
    const target = conversationOf(context, id);
    for (let tries = 1; ; tries++) {
      const exported = await exportFrom(conversationOf(context), source);
      if (!exported.ok) return passedOn(exported);
      const imported = await importInto(target, id, exported);
      if (tries === MAX_TRIES || !(await isRefused(imported, "conflict")))
        return passedOn(imported);
    }
  });

  routes.post("/import", async (context) => {
    const { part, of, upload } = partIn(context);
    const parts = importOf(context, upload);
    const { header, body } = withEnd(context.var.body.pieces());
    const query = new URLSearchParams({ part: String(part), of: String(of) });
    const kept = await parts.fetch(`http://conversation/transfer/parts?${query}`, {
      method: "PUT",
      headers: [header, ["content-type", "application/octet-stream"]],
      body,
    });
    if (!kept.ok) return passedOn(kept);
    await kept.arrayBuffer();
    if (part < of) return context.json({ import: upload, part, of }, 202);
    try {
      return await goLive(context, parts);
    } finally {
      // What could not be brought in leaves nothing behind.
      await parts.deleteAll().catch(ignoreMissing);
    }
  });

  return routes;
}

/** Throws `bad_request`, `bad_id` or `body_too_large`. */
function partIn({ req }: Context<AppEnv>) {
  const { part: given, of: total, import: known } = req.query();
  const range = { min: 1, max: limits.maxTransferParts };
  const of = wholeNumberIn(total, "of", range) ?? 1;
  const part = wholeNumberIn(given, "part", { min: 1, max: of }) ?? 1;
  if (part > 1 && known === undefined) {
    throw new ByrefError("bad_request", "import must be what the answer to part 1 said.");
  }
  const maximum = limits.maxValueBytes;
  const length = Number(req.header("content-length") ?? 0);
  if (length > maximum) {
    const message = `A part is at most ${maximum} bytes, this is ${length}: send several, with part and of.`;
    throw new ByrefError("body_too_large", message);
  }
  return { part, of, upload: requireId(known ?? crypto.randomUUID()) };
}

/** Under its own id if that is free, else under a new one. */
async function goLive(context: Context<AppEnv>, parts: RemoteConversation): Promise<Response> {
  let imported: Response | undefined;
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const file = await parts.fetch("http://conversation/transfer/parts");
    if (!file.ok) return passedOn(file);
    const own = file.headers.get("x-byref-id") ?? "";
    const id = tries === 1 ? own : crypto.randomUUID();
    imported = await importInto(conversationOf(context, id), id, file);
    if (!(await isRefused(imported, "conversation_exists"))) break;
  }
  return imported === undefined ? new Response(null, { status: 500 }) : passedOn(imported);
}

function exportFrom(conversation: RemoteConversation, id: string): Promise<Response> {
  return conversation.fetch(`http://conversation/transfer/export?id=${encodeURIComponent(id)}`);
}

function importInto(
  conversation: RemoteConversation,
  id: string,
  { body }: Response,
): Promise<Response> {
  return conversation.fetch(`http://conversation/transfer/import?id=${encodeURIComponent(id)}`, {
    method: "POST",
    body,
  });
}

/** Is it a problem with this code? */
async function isRefused(response: Response, code: string): Promise<boolean> {
  if (response.status !== 409) return false;
  const problem = await response.clone().json<{ readonly code?: string }>();
  return problem.code === code;
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== "conversation_not_found") console.error(error);
}
