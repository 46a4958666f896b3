import { Hono } from "hono/tiny";
import * as z from "zod";
import { type Bound, ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { requireName } from "../../store/names.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { summaryOf } from "../../store/summary.ts";
import type { AppEnv } from "../app-env.ts";
import { conditionsIn, isNotModified, requireReadable } from "../http/conditions.ts";
import { conversationOf, type RemoteConversation } from "../conversation-of.ts";
import { infoEtagOf } from "../variables/etags.ts";
import { putOptionsIn } from "../variables/put-variable.ts";
import { passedOn } from "../http/passed-on.ts";
import { readJson } from "../http/read-body.ts";
import { withEnd } from "../http/whole-body.ts";
import { parse, wholeNumberIn } from "../http/parse.ts";
import { preferred } from "../http/preferred.ts";

/** `PATCH …/variables/:name`; a ttl in seconds, null to let the variable stay. */
export const changesBody = z
  .strictObject({
    ttl: z.int().min(1).max(limits.maxTtlSeconds).nullable().optional(),
    pinned: z.boolean().optional(),
    description: z.string().max(limits.maxDescriptionChars).optional(),
  })
  .refine((changes) => Object.keys(changes).length > 0, "must change something")
  .meta({ minProperties: 1 });

/** `POST …/interpolate`. */
export const interpolateBody = z.object({
  text: z.string(),
  syntax: z.enum(["dollar", "mustache", "dagger"]).default("mustache"),
});

/** The variables of a conversation. */
export function variableRoutes() {
  const routes = new Hono<AppEnv>();
  addLists(routes);
  addValues(routes);
  addChanges(routes);
  return routes;
}

function addLists(routes: Hono<AppEnv>): void {
  routes.get("/:id/variables", async (context) => {
    const { names, after, limit: size, ...query } = context.req.query();
    const conversation = conversationOf(context);
    const max = limits.maxVariablePageSize;
    const count = wholeNumberIn(query.last, "last", { min: 0 });
    const limit = wholeNumberIn(size, "limit", { min: 1, max }) ?? max;
    const cursor = wholeNumberIn(after, "after", { min: 0 }) ?? 0;
    const last = count === undefined ? undefined : Math.min(count, max);
    const page =
      names !== undefined
        ? await namedVariables(conversation, names, last)
        : last !== undefined
          ? { variables: await conversation.listVariables({ last }) }
          : await conversation.pageVariables({ after: cursor, limit });
    const type = preferred(context.req.header("accept"), ["application/json", "text/markdown"]);
    if (type === "application/json") return context.json(page, 200, { vary: "accept" });
    const markdown = summaryOf(page.variables, count);
    return context.body(markdown, 200, {
      "content-type": "text/markdown; charset=utf-8",
      vary: "accept",
    });
  });

  routes.post("/:id/interpolate", async (context) => {
    const { text, syntax } = parse(interpolateBody, await readJson(context));
    const conversation = conversationOf(context);
    return context.json(await conversation.interpolate(text, syntax));
  });
}

/** The newest `last` of the variables with these names, and the names that no variable has. */
async function namedVariables(
  conversation: RemoteConversation,
  list: string,
  last = Infinity,
): Promise<{ variables: readonly VariableInfo[]; missing: readonly string[] }> {
  const names = [...new Set(list.split(",").filter((name) => name !== ""))];
  const bound: Bound = ["maxVariablePageSize", limits.maxVariablePageSize];
  requireAtMost(bound, names.length, "Ask for fewer names at once.");
  const found = await conversation.listVariables({ names });
  const known = new Set(found.map(({ name }) => name));
  return {
    variables: found.slice(Math.max(found.length - last, 0)),
    missing: names.filter((name) => !known.has(name)),
  };
}

function addValues(routes: Hono<AppEnv>): void {
  routes.get("/:id/variables/:name/info", async (context) => {
    const { name } = context.req.param();
    const info = await conversationOf(context).variableInfo(name);
    const etag = infoEtagOf(info);
    return isNotModified(conditionsIn(context.req.raw.headers), etag)
      ? context.body(null, 304, { etag })
      : context.json(info, 200, { etag });
  });

  routes.get("/:id/variables/:name", async (context) => {
    const { name } = context.req.param();
    const { search } = new URL(context.req.url);
    const response = await conversationOf(context).fetch(addressOf(name, search), {
      method: context.req.method,
      headers: pick(context.req.raw.headers, READ_HEADERS),
    });
    return passedOn(response);
  });

  routes.put("/:id/variables/:name", async (context) => {
    const { id, name } = context.req.param();
    requireName(requireWritable(name));
    const { search, searchParams } = new URL(context.req.url);
    putOptionsIn(searchParams);
    // An empty header does not reach the object: whoever sent it would be without the guard that they meant.
    requireReadable(conditionsIn(context.req.raw.headers));
    requireSmallEnough(context.req.header("content-length"));
    const { header, body } = withEnd(context.var.body.pieces());
    const given = pick(context.req.raw.headers, ["content-type", "if-match", "if-none-match"]);
    given.set(...header);
    const response = await conversationOf(context).fetch(addressOf(name, search), {
      method: "PUT",
      headers: given,
      body,
    });
    const headers = new Headers(response.headers);
    const newName = headers.get("x-byref-name");
    headers.delete("x-byref-name");
    if (newName !== null && newName !== name) {
      headers.set("location", `/conversations/${id}/variables/${newName}`);
    }
    return new Response(response.body, { status: response.status, headers });
  });
}

function addChanges(routes: Hono<AppEnv>): void {
  routes.patch("/:id/variables/:name", async (context) => {
    const { name } = context.req.param();
    const { ttl, pinned, description } = parse(changesBody, await readJson(context));
    const changes = {
      ...(ttl === undefined ? {} : { ttlMs: ttl === null ? null : ttl * 1_000 }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(description === undefined ? {} : { description }),
    };
    const conditions = conditionsIn(context.req.raw.headers);
    const conversation = conversationOf(context);
    const info = await conversation.changeVariable(requireWritable(name), changes, conditions);
    return context.json(info, 200, { etag: infoEtagOf(info) });
  });

  routes.delete("/:id/variables/:name", async (context) => {
    const { name } = context.req.param();
    const conditions = conditionsIn(context.req.raw.headers);
    const conversation = conversationOf(context);
    if (await conversation.deleteVariable(requireWritable(name), conditions)) {
      return context.body(null, 204);
    }
    throw new ByrefError("variable_not_found", `There is no variable ${name}.`);
  });

  routes.delete("/:id/variables", async (context) => {
    const keepLast = wholeNumberIn(context.req.query("keepLast"), "keepLast", { min: 0 }) ?? 0;
    const conversation = conversationOf(context);
    return context.json({ deleted: await conversation.resetVariables(keepLast) });
  });
}

const READ_HEADERS = ["accept", "range", "if-range", "if-match", "if-none-match"];

/** Inside of the object: what the Worker asks for, never what a client wrote. */
function addressOf(name: string, search: string): string {
  return `http://conversation/variables/${encodeURIComponent(name)}${search}`;
}

function pick(headers: Headers, names: readonly string[]): Headers {
  const picked = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) picked.set(name, value);
  }
  return picked;
}

/** Said before the body comes; one that does not tell its length is counted. */
function requireSmallEnough(contentLength: string | undefined): void {
  const maximum = limits.maxValueBytes;
  if (contentLength === undefined || Number(contentLength) <= maximum) return;
  throw new ByrefError(
    "body_too_large",
    `A value is at most ${maximum} bytes, this is ${contentLength}.`,
  );
}

/** What the caller gave with a message is as it was given. */
function requireWritable(name: string): string {
  if (name !== "input") return name;
  throw new ByrefError("bad_name", "input is what came with a message, and cannot be changed.");
}
