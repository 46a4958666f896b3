import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getMimeType } from "hono/utils/mime";
import { join, relative } from "node:path";

/**
 * The folder of the built page: static files, and `_headers` as Cloudflare reads it. In `wrangler.toml` it is
 * `./node_modules/byref/dist/web`.
 */
export const pageFolder = join(packageFolder(import.meta.dirname), "dist/web");

export interface PageFile {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const HEADERS = "_headers";

/**
 * Lists the page's files, or those of a page of your own, for servers that do not read `_headers` as Cloudflare
 * does. Throws if the type of a file is unknown.
 */
export function pageFiles(folder = pageFolder): readonly PageFile[] {
  const headers = join(folder, HEADERS);
  const rules = existsSync(headers) ? rulesIn(readFileSync(headers, "utf8")) : [];
  return namesIn(folder).map((name) => {
    const path = `/${name.replace(/(^|\/)index\.html$/, "$1")}`;
    const type = getMimeType(name);
    if (type === undefined) throw new Error(`The type of ${name} is unknown.`);
    const own = rules.filter(({ start }) => path.startsWith(start));
    const pairs = own.flatMap(({ headers }) => headers);
    const usual = { "content-type": type, "cache-control": "no-cache" };
    return { name, path, headers: { ...usual, ...Object.fromEntries(pairs) } };
  });
}

/** The files that a server serves, without `_headers`. */
export function namesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((name) => name !== HEADERS)
    .toSorted();
}

/** The module is in `src` of its package, in `dist`, or in a folder of one of them. */
export function packageFolder(folder: string): string {
  return folder.replace(/[/\\](?:packages[/\\]gateway[/\\]src|dist)(?:[/\\][^/\\]+)?$/, "");
}

/** Parses `_headers`: a line with a path that ends in `*`, and below it, indented, the headers for that path. */
function rulesIn(text: string) {
  return text.split(/\n(?=\/)/).map((rule) => {
    const [path = "", ...lines] = rule.trim().split("\n");
    const headers = lines.map((line) => {
      const [, name = "", value = ""] = /^\s+([\w-]+): (.*)$/.exec(line) ?? [];
      return [name.toLowerCase(), value] as const;
    });
    return { start: path.replace(/\*$/, ""), headers };
  });
}
