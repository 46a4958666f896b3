import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { filePathIn } from "../../tool/files.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { Api, ConversationParts } from "../conversation-parts.ts";
import { deleteFile, missingFile, putFile } from "../files/write-file.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import { ifMatch, ifNoneMatch, ifRange, pageSize, text } from "../http/parameters.ts";
import { locationQuery } from "../placement.ts";
import { filesIn, type R2Files } from "../platform/r2-files.ts";
import { visibilityQuery } from "./variables.ts";
import { serveStored } from "../variables/serve-value.ts";
import * as z from "zod";

const file = z.strictObject({
  path: text,
  bytes: z.int().min(0),
  mediaType: text,
  etag: text,
  modified: text.meta({ format: "date-time" }),
  visibility: z.enum(["model", "sealed", "secret"]),
});
const files = z.strictObject({
  files: z.array(file),
  next: text.optional().describe("For the next page: after"),
});

const bytes = { "*/*": text.meta({ format: "binary" }) };
const info = { "application/json": file };
const guards = {
  "If-Match": ifMatch.optional().describe("The expected ETag, or *"),
  "If-None-Match": ifNoneMatch.optional(),
};

const endpoints: readonly Endpoint<ConversationParts>[] = [
  endpoint(
    "GET /conversations/:id/files",
    {
      summary: "Lists files by path",
      query: {
        after: text.optional().describe("The next of a page, or a path"),
        limit: pageSize(limits.maxPageSize),
      },
      answers: { 200: { "application/json": files } },
    },
    async ({ query }, { context }) => {
      await context.deletion.whenDone();
      const folder = folderOf(context);
      return Response.json(context.data === undefined ? { files: [] } : await folder.page(query));
    },
  ),
  endpoint(
    "GET /conversations/:id/files/:path{[^]+}",
    {
      summary: "Returns a file or a part of it",
      headers: { Range: text.optional(), "If-Range": ifRange.optional(), ...guards },
      answers: { 200: bytes, 206: bytes, 304: "Not modified" },
    },
    async ({ request }, { context }) => {
      const path = pathIn(request);
      await context.deletion.whenDone();
      const folder = folderOf(context);
      const found = context.data && (await folder.find(path));
      if (found === undefined) throw missingFile(path);
      if (found.visibility === "secret") {
        throw new ByrefError("variable_secret", `${path} is secret: it cannot be read.`);
      }
      return serveStored(found.open, found, request);
    },
  ),
  endpoint(
    "PUT /conversations/:id/files/:path{[^]+}",
    {
      summary: "Saves a file",
      query: { visibility: visibilityQuery, location: locationQuery },
      headers: guards,
      content: bytes,
      answers: { 200: info, 201: info },
    },
    async ({ query: { visibility }, request }, { context }) => {
      const path = pathIn(request);
      const put = { files: folderOf(context), path, request, visibility };
      const { file, isNew } = await putFile(context, put);
      return Response.json(file, { status: isNew ? 201 : 200, headers: { etag: file.etag } });
    },
  ),
  endpoint(
    "DELETE /conversations/:id/files/:path{[^]+}",
    { summary: "Deletes a file", headers: guards, answers: { 204: "Deleted" } },
    async ({ request }, { context }) => {
      await deleteFile(context, { files: folderOf(context), path: pathIn(request), request });
      return new Response(null, { status: 204 });
    },
  ),
];

/** Throws `not_configured`. */
function folderOf({ env, prefix }: ConversationContext): R2Files {
  const files = filesIn(env, prefix);
  if (files !== undefined) return files;
  throw new ByrefError("not_configured", NOT_CONFIGURED);
}

const NOT_CONFIGURED = `Files need the binding BLOBS. Add it to wrangler.toml:
[[r2_buckets]]
binding = "BLOBS"
bucket_name = "byref"`;

/**
 * The file's path, behind `/conversations/:id/files/`. Each segment is decoded once, so an encoded slash is no
 * separator. Throws `bad_path`.
 */
function pathIn({ url }: Request): string {
  const segments = new URL(url).pathname.split("/").slice(4).map(decoded);
  return filePathIn(segments.join("/"));
}

function decoded(segment: string): string {
  try {
    const text = decodeURIComponent(segment);
    if (!text.includes("/")) return text;
  } catch {
    // The segment is not UTF-8.
  }
  const message = `"${segment.slice(0, 80)}" is not a segment of a file's path: encode it as UTF-8, without a slash.`;
  throw new ByrefError("bad_path", message);
}

/** Endpoints of files, as an application passes them to `createRuntime`. */
export interface FileEndpoints {
  readonly api: Api;
}

/** Endpoints that list, serve, save and delete the files of a conversation. */
export const fileEndpoints: FileEndpoints = {
  api: { conversation: endpoints, components: { File: file, Files: files } },
};
