import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from "jsonc-parser";
import { ByrefError } from "../../../../src/errors.ts";
import { syntaxMessage, withoutMark } from "../configuration.ts";
import { json } from "../../../../src/internal.ts";

/** Servers of one place in a configuration, by name. */
export interface ServerGroup {
  readonly path: JSONPath;
  /** The folder that Claude Code has these servers for. */
  readonly project?: string;
  readonly servers: Readonly<Record<string, unknown>>;
}

/** A client's configuration as it is on disk. */
export interface ClientFile {
  /** Links are resolved. */
  readonly file: string;
  readonly mode: number;
  readonly bytes: Buffer;
  /** The text without a byte order mark. */
  readonly text: string;
  readonly groups: readonly ServerGroup[];
}

/** Reads a client's configuration. Throws `bad_configuration` with the place and what to do. */
export function readClientFile(name: string): ClientFile {
  if (!existsSync(name))
    throw bad(name, "There is no such file. Name a client's configuration, and");
  if (statSync(name).isDirectory())
    throw bad(name, "It is a folder. Name a client's configuration, and");
  const file = realpathSync(name);
  const bytes = readFileSync(file);
  const text = withoutMark(decoded(bytes, file));
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) throw bad(file, `${syntaxMessage(text, error)} Correct it and`);
  const groups = root === undefined ? [] : groupsIn(root);
  if (groups.length === 0) {
    throw bad(
      file,
      'It has neither "mcpServers" nor "servers". Name a client\'s configuration, and',
    );
  }
  return { file, mode: statSync(file).mode, bytes, text, groups };
}

/** Returns the bytes of the file with another text. A byte order mark stays. */
export function bytesOf({ bytes }: ClientFile, text: string): Buffer {
  return Buffer.from(isMarked(bytes) ? `\uFEFF${text}` : text);
}

/** Sets a value in the text. It is indented as the text is; comments elsewhere stay. */
export function edited(text: string, path: JSONPath, value: unknown): string {
  return applyEdits(text, modify(text, path, value, formattingOf(text)));
}

/** Returns the servers at a path in the text. */
export function serversAt(text: string, path: JSONPath): ServerGroup["servers"] {
  const node = nodeIn(text, path);
  const servers: unknown = node && getNodeValue(node);
  return json.isObject(servers) ? servers : {};
}

/** Puts the servers of another text into a text as they are written there, with their comments. */
export function withServersOf(text: string, path: JSONPath, source: string): string {
  const from = nodeIn(source, path);
  const place = nodeIn(text, path);
  if (from === undefined) return text;
  if (place === undefined) return edited(text, path, getNodeValue(from));
  const written = source.slice(from.offset, from.offset + from.length);
  return text.slice(0, place.offset) + written + text.slice(place.offset + place.length);
}

function nodeIn(text: string, path: JSONPath): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root && findNodeAtLocation(root, path);
}

function groupsIn(root: Node): readonly ServerGroup[] {
  const projects = valueAt(root, ["projects"]);
  const ofProjects = Object.keys(projects ?? {}).flatMap((project) => {
    const path = ["projects", project, "mcpServers"];
    const servers = valueAt(root, path);
    return servers === undefined ? [] : [{ path, project, servers }];
  });
  for (const key of ["mcpServers", "servers"]) {
    const servers = valueAt(root, [key]);
    if (servers !== undefined) return [{ path: [key], servers }, ...ofProjects];
  }
  return ofProjects;
}

function valueAt(root: Node, path: JSONPath): Readonly<Record<string, unknown>> | undefined {
  const node = findNodeAtLocation(root, path);
  const value: unknown = node && getNodeValue(node);
  return json.isObject(value) ? value : undefined;
}

function isMarked(bytes: Buffer): boolean {
  return bytes.subarray(0, 3).equals(Buffer.from("\uFEFF"));
}

function decoded(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw bad(file, "It is not UTF-8. Save it as UTF-8 and");
  }
}

function bad(file: string, why: string): ByrefError {
  const message = `${file}: ${why} run this again. Nothing was changed.`;
  return new ByrefError("bad_configuration", message);
}

/** Follows the file's own indentation and line ends. */
function formattingOf(text: string) {
  const indent = /^([ \t]+)\S/mu.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const tabSize = insertSpaces ? indent.length : 1;
  return { formattingOptions: { insertSpaces, tabSize, eol } };
}
