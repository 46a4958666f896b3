import { compact } from "../../value/json.ts";
import * as z from "zod";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { parsePath } from "../../reference/grammar.ts";
import { interpolate } from "../../reference/resolve.ts";
import { requireName } from "../../store/names.ts";
import type { VariableInfo } from "../../store/variable.ts";
import type { WriteMode } from "../../store/variable-store.ts";
import type { VariableStore } from "../../store/variables.ts";
import { summaryOf } from "../../store/summary.ts";
import { lookupFor, ScopedStore } from "../../tool/scoped-store.ts";
import type { Path } from "../../value/path.ts";
import { requireWellFormed } from "../../value/well-formed.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationParts } from "../conversation-parts.ts";
import { type Conditions, preferred, requireConditions } from "../http/request-headers.ts";
import { type Content, type Endpoint, endpoint, type Parsed } from "../http/endpoint.ts";
import {
  after,
  conditions,
  ifRange,
  oneOf,
  pageSize,
  text,
  wholeNumber,
} from "../http/parameters.ts";
import * as schemas from "../openapi/schemas.ts";
import { locationQuery } from "../placement.ts";
import { etagOf, guardsIn, metadataEtagOf } from "../variables/etags.ts";
import { noVariable, serveValue } from "../variables/serve-value.ts";
import { putValue } from "../variables/put-variable.ts";
import { evictionMessage } from "../../tool/store-lookup.ts";

/** `PATCH …/variables/:name`; `ttl` in seconds, null for none. */
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

const value: Content = {
  "application/json": schemas.json,
  "application/x-ndjson": text.describe("An array, one element per line"),
  "text/plain": text,
  "text/csv": text.describe("Records, with the keys in the first line"),
  "*/*": text.meta({ format: "binary" }),
};
const info = { "application/json": schemas.variable };

const guards = conditions();

const description = text.max(limits.maxDescriptionChars);

export const visibilityQuery = oneOf(["model", "sealed", "secret"]).optional();

const settings = {
  ttl: wholeNumber(1, limits.maxTtlSeconds).optional().describe("In seconds"),
  pin: oneOf(["true", "false"]).optional(),
  visibility: visibilityQuery,
  description: description.optional(),
  location: locationQuery,
  types: oneOf(["off"]).optional().describe("For CSV: off keeps all cells as text"),
  delimiter: oneOf(["comma", "semicolon", "tab", "pipe", "auto"])
    .optional()
    .describe("For CSV. auto: the most frequent one of the first line"),
};

const pageQuery = {
  last: wholeNumber(0).optional().describe("Number of newest variables"),
  names: text.optional().describe("Names, separated by commas"),
  after,
  limit: pageSize(limits.maxItems),
};

export const variableEndpoints: readonly Endpoint<ConversationParts>[] = [
  endpoint(
    "GET /conversations/:id/variables",
    {
      summary: "Lists variables, without their values",
      query: pageQuery,
      answers: { 200: { "application/json": schemas.variables, "text/markdown": text } },
    },
    ({ query, request }, { context: { store } }) => {
      const page = pageOf(store, query);
      const accept = request.headers.get("accept");
      const headers = { vary: "accept" };
      if (preferred(accept, ["application/json", "text/markdown"]) === "application/json") {
        return Response.json(page, { headers });
      }
      return new Response(summaryOf(page.variables, query.last), {
        headers: { ...headers, "content-type": "text/markdown; charset=utf-8" },
      });
    },
  ),
  endpoint(
    "POST /conversations/:id/interpolate",
    {
      summary: "Replaces the references in a text with values",
      body: interpolateBody,
      answers: { 200: { "application/json": schemas.interpolated } },
    },
    async ({ body }, { context: { store } }) => {
      const lookup = lookupFor(undefined, store, {});
      return Response.json(await interpolate(body.text, lookup, { syntaxes: [body.syntax] }));
    },
  ),
  endpoint(
    "GET /conversations/:id/variables/:name/info",
    {
      summary: "Describes a variable, without its value",
      answers: { 200: info },
    },
    ({ params }, { context: { store } }) => {
      const found = infoOf(store, params.name);
      return Response.json(found, { headers: { etag: metadataEtagOf(found) } });
    },
  ),
  endpoint(
    "GET /conversations/:id/variables/:name",
    {
      summary: "Returns a value or a part of it",
      query: {
        path: text.transform(pathIn).optional().describe("As in a reference: .temp, [0].id"),
        offset: wholeNumber(0).optional().describe("In elements, characters or bytes"),
        limit: wholeNumber(0).optional(),
        version: wholeNumber(1).optional().describe("An earlier version, if it is kept"),
      },
      headers: { Range: text.optional(), "If-Range": ifRange.optional(), ...guards },
      answers: { 200: value, 206: { "*/*": text.meta({ format: "binary" }) }, 304: "Not modified" },
    },
    async ({ params: { name }, query, headers, request }, { context }) => {
      await context.deletion.whenDone();
      const { store } = context;
      const found = infoOf(store, name);
      if (found.visibility === "secret") {
        throw new ByrefError("variable_secret", `${name} is secret: its value cannot be read.`);
      }
      const { csv } = context.setup;
      const { version, ...part } = query;
      const from = version === undefined ? undefined : versionOf(store, found, version);
      const source = { store: from?.reads ?? store, csv };
      return serveValue(source, from?.info ?? found, part, { ...headers, request });
    },
  ),
  endpoint(
    "PUT /conversations/:id/variables/:name",
    {
      summary: "Saves a value",
      query: {
        mode: oneOf(["replace", "append", "merge", "new"]).prefault("replace"),
        ...settings,
      },
      headers: guards,
      content: value,
      answers: { 200: info, 201: info },
    },
    async ({ params: { name }, query, headers, request }, { context }) => {
      requireName(requireWritable(name));
      return save(context, { name, request, conditions: headers }, query);
    },
  ),
  endpoint(
    "POST /conversations/:id/variables",
    {
      summary: "Saves a value without a name",
      query: settings,
      content: value,
      answers: { 201: info },
    },
    ({ query, request }, { context }) => save(context, { name: "", request }, query),
  ),
  endpoint(
    "PATCH /conversations/:id/variables/:name",
    {
      summary: "Changes a variable's lifetime, pin or description",
      headers: conditions("The ETag of …/info, or *"),
      body: changesBody,
      answers: { 200: info },
    },
    async ({ params: { name }, body, headers }, { context }) => {
      const { ttl, pinned, description } = body;
      requireWellFormed(description ?? "", "A description");
      requireWritable(name);
      const before = context.store.info(name);
      requireConditions(guardsIn(headers), before && metadataEtagOf(before));
      // Only a run itself changes its variables.
      const changed = new ScopedStore(context.store).update(name, {
        ...(ttl === undefined ? {} : { ttlMs: ttl === null ? null : ttl * 1_000 }),
        ...compact({ pinned, description }),
      });
      if (changed === undefined) throw missingVariable(name, context.store);
      await context.settle();
      return Response.json(changed, { headers: { etag: metadataEtagOf(changed) } });
    },
  ),
  endpoint(
    "DELETE /conversations/:id/variables/:name",
    {
      summary: "Deletes a variable",
      headers: guards,
      answers: { 204: "Deleted" },
    },
    async ({ params: { name }, headers }, { context }) => {
      requireWritable(name);
      const before = context.store.info(name);
      requireConditions(guardsIn(headers), before && etagOf(before));
      const isDeleted = new ScopedStore(context.store).delete(name);
      await context.settle();
      if (isDeleted) return new Response(null, { status: 204 });
      throw noVariable(name);
    },
  ),
  endpoint(
    "DELETE /conversations/:id/variables",
    {
      summary: "Deletes all variables except pinned ones and the newest",
      query: { keepLast: wholeNumber(0).prefault(0) },
      answers: { 200: { "application/json": schemas.deleted } },
    },
    async ({ query: { keepLast } }, { context }) => {
      const deleted = context.store.reset(keepLast);
      await context.settle();
      return Response.json({ deleted });
    },
  ),
];

type Settings = Parsed<typeof settings> & { readonly mode?: WriteMode };

/**
 * Saves the body under this name, or under the next automatic one if it is empty: then names the variable in
 * `Location`.
 */
async function save(
  context: ConversationContext,
  put: { readonly name: string; readonly request: Request; readonly conditions?: Conditions },
  { mode, ttl, pin, visibility, description, types, delimiter }: Settings,
): Promise<Response> {
  const options = {
    ...compact({ mode, visibility, description }),
    ...(ttl === undefined ? {} : { ttlMs: ttl * 1_000 }),
    ...(pin === undefined ? {} : { pinned: pin === "true" }),
  };
  const reading = compact({ types, delimiter });
  const { info, isNew } = await putValue(context, { ...put, options, reading });
  const headers = new Headers({ etag: etagOf(info) });
  if (info.name !== put.name) {
    const [above] = new URL(put.request.url).pathname.split("/variables");
    headers.set("location", `${above}/variables/${info.name}`);
  }
  return Response.json(info, { status: isNew ? 201 : 200, headers });
}

function infoOf(store: VariableStore, name: string): VariableInfo {
  const found = store.info(name);
  if (found === undefined) throw missingVariable(name, store);
  return found;
}

/** Throws `bad_path`. */
function pathIn(written: string): Path {
  const path = parsePath(written);
  if (path !== undefined) return path;
  const message = `${written} is not a path; write it as after a name, e.g. .temp or [0].id`;
  throw new ByrefError("bad_path", message);
}

/** Throws `bad_name` for `input`, which cannot be changed. */
function requireWritable(name: string): string {
  if (name !== "input") return name;
  throw new ByrefError("bad_name", "input is what came with a message, and cannot be changed.");
}

/** The error for a variable that does not exist or was evicted. */
function missingVariable(name: string, store: VariableStore): ByrefError {
  const tombstone = store.tombstone(name);
  if (tombstone === undefined) return noVariable(name);
  return new ByrefError("variable_evicted", evictionMessage(tombstone), { tombstone });
}

/** The current version of a variable, or an earlier one that is kept. Throws `variable_not_found`. */
function versionOf(store: VariableStore, info: VariableInfo, version: number) {
  if (version === info.version) return undefined;
  const earlier = store.earlier(info.name, version);
  if (earlier === undefined) {
    const message = `Version ${version} of ${info.name} is not kept; the current one is ${info.version}.`;
    throw new ByrefError("variable_not_found", message);
  }
  const reads: Pick<VariableStore, "open" | "read" | "readPath"> = {
    open: () => earlier.open(),
    read: () => earlier.read(),
    readPath: (_name, path) => earlier.readPath(path),
  };
  return { info: earlier.info, reads };
}

/** The variables that a query selects: a page, the newest, or those with the names. */
function pageOf(store: VariableStore, { names, last, after = 0, limit }: Parsed<typeof pageQuery>) {
  const newest = last === undefined ? undefined : Math.min(last, limits.maxItems);
  if (names !== undefined) return namedVariables(store, names, newest);
  return newest === undefined
    ? store.page({ after, limit })
    : { variables: store.list({ last: newest }) };
}

/** The newest `last` of the named variables, and the names that no variable has. */
function namedVariables(store: VariableStore, list: string, last = Infinity) {
  const names = [...new Set(list.split(",").filter((name) => name !== ""))];
  requireAtMost("maxItems", names.length, "Ask for fewer names at once.");
  const found = store.list({ names });
  const known = new Set(found.map(({ name }) => name));
  return {
    variables: found.slice(Math.max(found.length - last, 0)),
    missing: names.filter((name) => !known.has(name)),
  };
}
