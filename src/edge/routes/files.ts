import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { filePathIn } from "../../tool/files.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationParts, Support } from "../conversation-parts.ts";
import { inQueue } from "../../store/retry-conflicts.ts";
import type { Visibility } from "../../store/variable.ts";
import { tooLarge, untilEnd } from "../http/client-body.ts";
import { requireConditions } from "../http/request-headers.ts";
import { storedType, writing } from "../variables/put-variable.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import { conditions, ifRange, pageSize, text } from "../http/parameters.ts";
import { locationQuery } from "../placement.ts";
import { file, files } from "../platform/file-page.ts";
import { filesIn, type R2Files } from "../platform/r2-files.ts";
import { visibilityQuery } from "./variables.ts";
import { type Conditional, serveStored } from "../variables/serve-value.ts";

const bytes = { "*/*": text.meta({ format: "binary" }) };
const info = { "application/json": file };
const guards = conditions();

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
    async ({ headers, request }, { context }) => {
      const path = pathIn(request);
      await context.deletion.whenDone();
      const folder = folderOf(context);
      const found = context.data && (await folder.find(path));
      if (found === undefined) throw missingFile(path);
      if (found.visibility === "secret") {
        throw new ByrefError("variable_secret", `${path} is secret: it cannot be read.`);
      }
      return serveStored(found.open, found, { ...headers, request });
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
    async ({ query: { visibility }, headers, request }, { context }) => {
      const { file, isNew } = await putFile(context, { ...headers, request }, visibility);
      return Response.json(file, { status: isNew ? 201 : 200, headers: { etag: file.etag } });
    },
  ),
  endpoint(
    "DELETE /conversations/:id/files/:path{[^]+}",
    { summary: "Deletes a file", headers: guards, answers: { 204: "Deleted" } },
    async ({ headers, request }, { context }) => {
      const path = pathIn(request);
      const files = folderOf(context);
      await context.deletion.whenDone();
      if (context.data === undefined) {
        requireConditions(headers, undefined);
        throw missingFile(path);
      }
      await writing(context, ({ events }) =>
        inQueue(context, async () => {
          const current = await files.find(path);
          requireConditions(headers, current?.etag);
          if (current === undefined) throw missingFile(path);
          await files.delete(path);
          events.add({ type: "file.deleted", file: { path } });
        }),
      );
      return new Response(null, { status: 204 });
    },
  ),
];

/**
 * Saves the request's body as a file, completely or not at all, and creates the conversation if it does not
 * exist. The conditions are checked twice: before the body is received, and before the file becomes visible. R2 checks
 * none when it completes an upload or deletes a file, so one change follows the other. A turn's own writes do not wait.
 * Default of `visibility`: that of the file that is replaced, else `model`.
 */
function putFile(
  context: ConversationContext,
  { request, ...conditions }: Conditional,
  visibility?: Visibility,
) {
  const path = pathIn(request);
  const files = folderOf(context);
  const mediaType = storedType(request);
  return writing(context, async ({ events }, signal) => {
    const before = await files.find(path);
    requireConditions(conditions, before?.etag);
    const kept = visibility ?? before?.visibility ?? "model";
    const upload = files.upload(path, { mediaType, visibility: kept });
    try {
      let bytes = 0;
      for await (const piece of untilEnd(request, signal)) {
        bytes += piece.length;
        if (bytes > limits.maxValueBytes) throw tooLarge(limits.maxValueBytes);
        await upload.write(piece);
      }
      return await inQueue(context, async () => {
        const current = await files.find(path);
        requireConditions(conditions, current?.etag);
        const isOther = current !== undefined && current.visibility !== kept;
        if (isOther && visibility === undefined) throw conflict(path);
        await files.requireRoom(path, bytes);
        await upload.complete();
        events.add({ type: "file.saved", file: { path, bytes } });
        const found = await files.find(path);
        // A turn has replaced or deleted it, which only a program beside Byref can do.
        if (found === undefined) throw conflict(path);
        const { open: _, info: __, ...file } = found;
        return { file, isNew: current === undefined };
      });
    } catch (error) {
      await upload.abort();
      throw error;
    }
  });
}

function missingFile(path: string): ByrefError {
  return new ByrefError("not_found", `There is no file ${path}.`);
}

function conflict(path: string): ByrefError {
  return new ByrefError("conflict", `${path} was written in the meantime; try again.`);
}

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
export const fileEndpoints: Support = {
  api: { conversation: endpoints, components: { File: file, Files: files } },
};
