import { type Context, Hono } from "hono";
import { ByrefError } from "../../errors.ts";
import { limits } from "../../limits.ts";
import { requireName } from "../../store/names.ts";
import { summaryOf } from "../../store/summary.ts";
import type { WriteMode } from "../../store/write-mode.ts";
import type { Json } from "../../value/json.ts";
import type { AppEnv } from "../app.ts";
import { conversationOf } from "../conversation-of.ts";
import type { PutOptions, ServedValue } from "../conversation.ts";
import { mediaTypeOf, parseJson, readJson } from "../read-body.ts";
import {
  changesBody,
  interpolateBody,
  MAX_TTL_SECONDS,
  wholeNumberIn,
  parse,
} from "../requests.ts";

/** The variables of a conversation. */
export function variableRoutes() {
  const routes = new Hono<AppEnv>();
  addReading(routes);
  addWriting(routes);
  return routes;
}

function addReading(routes: Hono<AppEnv>): void {
  routes.get("/:id/variables", async (context) => {
    const { last, names } = context.req.query();
    const count = wholeNumberIn(last, "last", { min: 0 });
    const variables = await conversationOf(context, context.req.param("id")).listVariables({
      ...(count === undefined ? {} : { last: count }),
      ...(names === undefined ? {} : { names: names.split(",") }),
    });
    if (context.req.header("accept")?.includes("text/markdown") !== true) {
      return context.json({ variables });
    }
    const markdown = summaryOf(variables, count);
    return context.body(markdown, 200, { "content-type": "text/markdown; charset=utf-8" });
  });

  routes.get("/:id/variables/:name/info", async (context) => {
    const { id, name } = context.req.param();
    return context.json(await conversationOf(context, id).variableInfo(name));
  });

  routes.get("/:id/variables/:name", async (context) => {
    const { id, name } = context.req.param();
    const path = context.req.query("path") ?? "";
    return serve(context, await conversationOf(context, id).readVariable(name, path));
  });

  routes.post("/:id/interpolate", async (context) => {
    const { text, syntax } = parse(interpolateBody, await readJson(context.req.raw));
    const conversation = conversationOf(context, context.req.param("id"));
    return context.json(await conversation.interpolate(text, syntax));
  });
}

function addWriting(routes: Hono<AppEnv>): void {
  routes.put("/:id/variables/:name", async (context) => {
    const { id, name } = context.req.param();
    const value = await readValue(context.req.raw);
    const options = putOptionsIn(context.req.query());
    const conversation = conversationOf(context, id);
    const { info, isNew } = await conversation.putVariable(
      requireName(requireWritable(name)),
      value,
      options,
    );
    const location = `/conversations/${id}/variables/${info.name}`;
    return context.json(info, isNew ? 201 : 200, info.name === name ? {} : { location });
  });

  routes.patch("/:id/variables/:name", async (context) => {
    const { id, name } = context.req.param();
    const { ttl, pinned, description } = parse(changesBody, await readJson(context.req.raw));
    const changes = {
      ...(ttl === undefined ? {} : { ttlMs: ttl === null ? null : ttl * 1_000 }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(description === undefined ? {} : { description }),
    };
    const conversation = conversationOf(context, id);
    return context.json(await conversation.changeVariable(requireWritable(name), changes));
  });

  routes.delete("/:id/variables/:name", async (context) => {
    const { id, name } = context.req.param();
    const existed = await conversationOf(context, id).deleteVariable(requireWritable(name));
    if (!existed) throw new ByrefError("variable_not_found", `There is no variable ${name}.`);
    return context.body(null, 204);
  });

  routes.delete("/:id/variables", async (context) => {
    const keepLast = wholeNumberIn(context.req.query("keepLast"), "keepLast", { min: 0 }) ?? 0;
    const conversation = conversationOf(context, context.req.param("id"));
    return context.json({ deleted: await conversation.resetVariables(keepLast) });
  });
}

/** A stored value must not become script on this origin, whatever it holds. */
function serve(context: Context<AppEnv>, { text, isText, etag }: ServedValue): Response {
  return context.body(text, 200, {
    "content-type": isText ? "text/plain; charset=utf-8" : "application/json",
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    etag,
  });
}

async function readValue(request: Request): Promise<Json> {
  const type = mediaTypeOf(request);
  if (type === "application/json") return parseJson(await request.text());
  if (type === "text/plain") return decodeText(await request.arrayBuffer());
  const message = `A value of content type ${type || "(none)"} cannot be kept; send application/json or text/plain.`;
  throw new ByrefError("unsupported_media_type", message);
}

/** UTF-8 to the byte, a byte order mark included; anything else would be changed in silence. */
function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ByrefError("bad_value", "The text is not UTF-8; send it in UTF-8.");
  }
}

/** What the caller gave with a message is as it was given. */
function requireWritable(name: string): string {
  if (name !== "input") return name;
  throw new ByrefError("bad_name", "input is what came with a message, and cannot be changed.");
}

function isWriteMode(mode: string): mode is WriteMode {
  return mode === "replace" || mode === "append" || mode === "merge" || mode === "new";
}

function putOptionsIn(query: Readonly<Record<string, string>>): PutOptions {
  const ttlSeconds = wholeNumberIn(query.ttl, "ttl", { min: 1, max: MAX_TTL_SECONDS });
  const { pin, description, mode } = query;
  if (mode !== undefined && !isWriteMode(mode)) {
    throw new ByrefError("bad_request", "mode must be replace, append, merge or new.");
  }
  if (pin !== undefined && pin !== "true" && pin !== "false") {
    throw new ByrefError("bad_request", "pin must be true or false.");
  }
  if (description !== undefined && description.length > limits.maxDescriptionChars) {
    const message = `description is at most ${limits.maxDescriptionChars} characters.`;
    throw new ByrefError("bad_request", message);
  }
  return {
    ...(ttlSeconds === undefined ? {} : { ttlMs: ttlSeconds * 1_000 }),
    ...(mode === undefined ? {} : { mode }),
    ...(pin === undefined ? {} : { pinned: pin === "true" }),
    ...(description === undefined ? {} : { description }),
  };
}
