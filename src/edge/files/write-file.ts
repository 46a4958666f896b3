import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { inQueue } from "../../store/retry-conflicts.ts";
import type { Visibility } from "../../store/variable.ts";
import type { ConversationContext } from "../conversation-context.ts";
import { untilEnd } from "../http/client-body.ts";
import { conditionsIn, requireConditions } from "../http/request-headers.ts";
import { storedType, writing } from "../variables/put-variable.ts";
import type { R2Files } from "../platform/r2-files.ts";
import type { FileSummary } from "./file-page.ts";

/** A write of one file over HTTP. */
export interface FileChange {
  readonly files: R2Files;
  readonly path: string;
  readonly request: Request;
}

export interface FilePut extends FileChange {
  /** Default: the visibility of the file that is replaced, else `model`. */
  readonly visibility: Visibility | undefined;
}

/**
 * Saves the request's body as a file, completely or not at all, and creates the conversation if it does not
 * exist. The conditions are checked twice: before the body is received, and before the file becomes visible. R2 checks
 * none when it completes an upload or deletes a file, so one change follows the other. A turn's own writes do not wait.
 */
export function putFile(context: ConversationContext, put: FilePut) {
  const { files, path, request, visibility } = put;
  const conditions = conditionsIn(request.headers);
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
        requireSize(bytes);
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
        return { file: await savedFile(files, path), isNew: current === undefined };
      });
    } catch (error) {
      await upload.abort();
      throw error;
    }
  });
}

/** Throws `not_found` or `precondition_failed`. */
export async function deleteFile(
  context: ConversationContext,
  { files, path, request }: FileChange,
): Promise<void> {
  const conditions = conditionsIn(request.headers);
  await context.deletion.whenDone();
  if (context.data === undefined) {
    requireConditions(conditions, undefined);
    throw missingFile(path);
  }
  await writing(context, ({ events }) =>
    inQueue(context, async () => {
      const current = await files.find(path);
      requireConditions(conditions, current?.etag);
      if (current === undefined) throw missingFile(path);
      await files.delete(path);
      events.add({ type: "file.deleted", file: { path } });
    }),
  );
}

export function missingFile(path: string): ByrefError {
  return new ByrefError("not_found", `There is no file ${path}.`);
}

function conflict(path: string): ByrefError {
  return new ByrefError("conflict", `${path} was written in the meantime; try again.`);
}

/** Throws `body_too_large`. */
function requireSize(bytes: number): void {
  const maximum = limits.maxValueBytes;
  if (bytes <= maximum) return;
  throw new ByrefError("body_too_large", `A file is at most ${maximum} bytes.`, {
    limit: "maxValueBytes",
    maximum,
  });
}

async function savedFile(files: R2Files, path: string): Promise<FileSummary> {
  const found = await files.find(path);
  // A turn has replaced or deleted it, which only a program beside Byref can do.
  if (found === undefined) throw conflict(path);
  const { open: _, ...file } = found;
  return file;
}
