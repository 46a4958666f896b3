import type { AgentDefinition } from "../agent-types.ts";
import * as z from "zod";
import { compact } from "../../value/json.ts";
import { version } from "../../version.ts";
import type { Api } from "../conversation-parts.ts";
import { endpoint, type Endpoint } from "../http/endpoint.ts";
import { openApiOf } from "../openapi/document.ts";
import * as schemas from "../openapi/schemas.ts";
import type { Context } from "hono";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { LanguageModel } from "ai";
import type { AppEnv, Bindings } from "../app-env.ts";
import type { AgentsDescription, ModelDescription, PageOptions } from "../page-options.ts";
import { conversationOf, requireId } from "../conversation-of.ts";
import type { DirectoryEntry, DirectoryPlace } from "../directory/directory.ts";
import { directoryOf, type RemoteDirectory } from "../directory/directory-client.ts";
import type { DeletionProgress } from "../directory/tenant-deletion.ts";
import { logFailure } from "../log-failure.ts";
import { pageSize, text } from "../http/parameters.ts";
import { newTicket } from "../auth/tickets.ts";
import { settingsOf } from "../settings.ts";

export interface WorkerApiOptions {
  readonly agents: readonly Pick<AgentDefinition, "name" | "description">[];
  readonly page?: PageOptions | undefined;
  readonly model?: ((env: Bindings) => LanguageModel) | undefined;
}

/** The Worker's own endpoints. `api`: the interface that the document describes. */
export function workerApi(options: WorkerApiOptions, api: () => Required<Api>): Api {
  // Created on first use: it takes some milliseconds, and most isolates do not need it.
  let document: object | undefined;
  return {
    worker: [
      endpoint(
        "GET /health",
        {
          summary: "Checks that the Worker runs",
          isOpen: true,
          answers: { 200: { "application/json": schemas.health } },
        },
        () => Response.json({ ok: true, version }),
      ),
      endpoint(
        "GET /agents",
        { summary: "Lists the agents", answers: { 200: { "application/json": schemas.agents } } },
        (_, { env }) => Response.json(describe(options, env)),
      ),
      endpoint(
        "GET /openapi.json",
        {
          summary: "Returns this document",
          answers: { 200: { "application/json": z.looseObject({ openapi: z.string() }) } },
        },
        () => Response.json((document ??= openApiOf(api()))),
      ),
    ],
  };
}

function describe({ agents, page, model }: WorkerApiOptions, env: Bindings): AgentsDescription {
  const described = describeModel(() => model?.(env));
  const named = agents.map(({ name, description }) => ({ name, description }));
  return { agents: named, ...compact({ model: described, page }) };
}

/** A setting that is missing is reported by the first turn, not here. */
function describeModel(make: () => LanguageModel | undefined): ModelDescription | undefined {
  try {
    const model = make();
    if (typeof model !== "object") return model && { id: model };
    return { provider: model.provider, id: model.modelId };
  } catch {
    return undefined;
  }
}

export const directoryEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  "GET /conversations",
  {
    summary: "Lists conversations by last activity",
    query: {
      limit: pageSize(limits.maxPageSize),
      before: text.transform(placeIn).optional(),
      search: text
        .max(limits.maxLineChars)
        .optional()
        .describe("Words of the title, in any case and order. A page may then be short, with next"),
    },
    answers: { 200: { "application/json": schemas.conversations } },
  },
  async ({ query }, context) => {
    const directory = directoryFor(context);
    const { entries, next, deletion } = await directory.list(query);
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
    return Response.json({
      conversations,
      // Has the time, not only the id: the page stays the same if the conversation moves up meanwhile.
      ...(next && { next: `${next.updatedMs}.${next.id}` }),
      ...(deletion && { deletion: shownProgress(deletion) }),
    });
  },
);

export const tenantDeletionEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  "DELETE /conversations",
  {
    summary: "Deletes all conversations in the background; the list shows how far it is",
    // A client that forgets an id must not delete everything.
    query: { all: z.literal("true") },
    answers: { 202: { "application/json": schemas.deletion } },
  },
  async (_, context) => {
    const { tenant } = context.get("identity");
    const progress = await directoryFor(context).deleteAll(tenant);
    return Response.json({ deletion: shownProgress(progress) }, { status: 202 });
  },
);

function shownProgress({ startedMs, deleted, remaining }: DeletionProgress) {
  return { startedAt: timeOf(startedMs), deleted, remaining };
}

/** The directory of who asks. Throws `not_configured`. */
export function directoryFor(context: Context<AppEnv>): RemoteDirectory {
  const directory = directoryOf(context.env, context.get("identity").tenant);
  if (directory !== undefined) return directory;
  throw new ByrefError("not_configured", NOT_CONFIGURED);
}

const NOT_CONFIGURED = `The list of conversations and programs need the binding DIRECTORY. Add it to wrangler.toml, with a new migration tag:
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
    const place = { tenant: context.get("identity").tenant, conversation: entry.id };
    logFailure(error, { ...place, request: "GET /conversations" });
    return { entry, status: "idle" as const };
  }
}

function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Throws `bad_request`. */
function placeIn(before: string): DirectoryPlace {
  const [, updatedMs, id] = /^(\d{1,15})\.([A-Za-z0-9._-]{1,128})$/u.exec(before) ?? [];
  if (id !== undefined) return { id, updatedMs: Number(updatedMs) };
  throw new ByrefError("bad_request", "before must be the next of an earlier page.");
}

/** `POST …/tickets`. */
export const ticketBody = z.strictObject({ path: z.string().max(2_048) });

/** Tickets are for clients that cannot send headers. Creating one writes nothing and calls no conversation. */
export const ticketEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  "POST /conversations/:id/tickets",
  {
    summary: "Creates a ticket (?ticket=) for GET requests of one path within 60 s",
    body: ticketBody,
    answers: { 201: { "application/json": schemas.ticket } },
  },
  async ({ params: { id }, body: { path }, request }, context) => {
    const base = `/conversations/${requireId(id)}/`;
    // Requires the path in the form that a request has: without dot segments, and without a query.
    const isPath = URL.parse(path, request.url)?.pathname === path;
    if (!isPath || !path.startsWith(base)) {
      throw new ByrefError("bad_request", `path must be one below ${base}, without a query.`);
    }
    const ticket = await newTicket(settingsOf(context.env), context.get("identity").tenant, path);
    return Response.json({ ticket }, { status: 201 });
  },
);
