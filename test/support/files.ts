import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { FilePage, FileSummary } from "../../src/edge/platform/file-page.ts";
import { R2Files } from "../../src/edge/platform/r2-files.ts";
import { call, objectOf } from "./edge.ts";

/** The route of a conversation's files, or of one of them. */
export const at = (id: string, path = "") => `/conversations/${id}/files${path}`;

/** A body with its content type. */
export function body(content: BodyInit, type = "text/plain", headers = {}): RequestInit {
  return { body: content, headers: { "content-type": type, ...headers } };
}

export async function save(id: string, path: string, content: BodyInit): Promise<FileSummary> {
  const type = typeof content === "string" ? "text/plain" : "application/octet-stream";
  const response = await call("PUT", at(id, path), body(content, type));
  expect([200, 201]).toContain(response.status);
  return response.json<FileSummary>();
}

export async function list(id: string, query = ""): Promise<FilePage> {
  const response = await call("GET", at(id, query));
  expect(response.status).toBe(200);
  return response.json<FilePage>();
}

/** The folder that a conversation's turns write to. */
export const folderOf = (id: string): R2Files => new R2Files(env.BLOBS, `${objectOf(id).id}/`);
