import type { Context } from "hono";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { conversationOf } from "../conversation-of.ts";
import type { DirectoryEntry, DirectoryPlace } from "../directory/directory.ts";
import { directoryOf } from "../directory/directory-client.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import { pageSize, text } from "../http/parameters.ts";
import * as schemas from "../openapi/schemas.ts";

/** Lists a tenant's conversations. */
export const directoryEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  "GET /conversations",
  {
    summary: "Lists the conversations, by last activity",
    query: {
      limit: pageSize(limits.maxPageSize),
      before: text.transform(placeIn).optional(),
    },
    answers: { 200: { "application/json": schemas.conversations } },
  },
  async ({ query }, context) => {
    const directory = directoryOf(context.env, context.get("tenant"));
    if (directory === undefined) throw new ByrefError("not_configured", NOT_CONFIGURED);
    const { entries, next } = await directory.list(query);
    const checked = await Promise.all(entries.map((entry) => withStatus(context, entry)));
    const deleted = checked.flatMap(({ entry, status }) => (status === undefined ? [entry] : []));
    // Deleted while the directory was unavailable.
    if (deleted.length > 0) await directory.forget(deleted);
    const conversations = checked.flatMap(({ entry, status }) => {
      if (status === undefined) return [];
      const { id, title, createdMs, updatedMs } = entry;
      const [createdAt, updatedAt] = [timeOf(createdMs), timeOf(updatedMs)];
      return [{ id, title, status, createdAt, updatedAt }];
    });
    return Response.json({ conversations, ...(next === undefined ? {} : { next: textOf(next) }) });
  },
);

const NOT_CONFIGURED = `Listing conversations needs the binding DIRECTORY. Add it to wrangler.toml, with a new migration tag:
[[durable_objects.bindings]]
name = "DIRECTORY"
class_name = "Directory"
[[migrations]]
tag = "v2"
new_sqlite_classes = ["Directory"]`;

/** Adds the status, which only the conversation knows; undefined if it does not exist. */
async function withStatus(context: Context<AppEnv>, entry: DirectoryEntry) {
  try {
    return { entry, status: await conversationOf(context, entry.id).status() };
  } catch (error) {
    // A conversation that fails does not affect the others.
    console.error(error);
    return { entry, status: "idle" as const };
  }
}

function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** A place contains a time, not only an id: the page stays the same if the conversation moves up meanwhile. */
function textOf({ id, updatedMs }: DirectoryPlace): string {
  return `${updatedMs}.${id}`;
}

/** Throws `bad_request`. */
function placeIn(before: string): DirectoryPlace {
  const [, updatedMs, id] = /^(\d{1,15})\.([A-Za-z0-9._-]{1,128})$/u.exec(before) ?? [];
  if (id !== undefined) return { id, updatedMs: Number(updatedMs) };
  throw new ByrefError("bad_request", "before must be the next of a page.");
}
