import type { VariableInfo } from "../../../src/store/variable.ts";
import type { Session } from "../session.ts";

/** Returns the path of a variable's value. */
export function pathOf(conversation: string, name: string): string {
  return `/conversations/${encodeURIComponent(conversation)}/variables/${encodeURIComponent(name)}`;
}

/** Start of the query keys of this version. */
export function versionKey({ conversation }: Session, info: VariableInfo): readonly string[] {
  return ["conversation", conversation, "value", info.name, `${info.version}/${info.updatedAt}`];
}

const ENDINGS: Readonly<Record<string, string>> = {
  "application/json": "json",
  // The server returns it as an array.
  "application/x-ndjson": "json",
  "text/plain": "txt",
  "text/tab-separated-values": "tsv",
  "image/jpeg": "jpg",
  "image/svg+xml": "svg",
  "application/octet-stream": "bin",
};

/** Returns the file name of a download. */
export function fileName({ name, mediaType }: Pick<VariableInfo, "name" | "mediaType">): string {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  const last = /([a-z0-9]+)$/.exec(type)?.[1] ?? "bin";
  return `${name}.${Object.hasOwn(ENDINGS, type) ? ENDINGS[type] : last}`;
}

/** True for records that are read from a file, such as a CSV. */
export function isTable({ type, mediaType }: Pick<VariableInfo, "type" | "mediaType">): boolean {
  return type === "array" && mediaType.startsWith("text/");
}

const SHOWN_IMAGES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** True for images that the server allows a page to show. */
export function isShownImage(mediaType: string): boolean {
  return SHOWN_IMAGES.has(mediaType.split(";")[0]?.trim().toLowerCase() ?? "");
}
