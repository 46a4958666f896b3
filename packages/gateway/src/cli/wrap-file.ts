import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parse } from "jsonc-parser";
import { ByrefError } from "../../../../src/errors.ts";
import { unusableBecause } from "../configuration.ts";
import {
  type ClientFile,
  edited,
  entryFor,
  nameFor,
  notesOn,
  ownEntryIn,
  readClientFile,
  ruleAgainst,
  type ServerGroup,
  serversAt,
  withServersOf,
  withText,
} from "./client-file.ts";
import * as limits from "../../../../src/limits.ts";
import { lineDiffs } from "../../../../src/internal-tool.ts";

/** The result of wrapping a file, or with `--dry-run` what it would be. */
export interface WrapReport {
  /** Links are resolved. */
  readonly file: string;
  readonly outcome: "wrapped" | "unwrapped" | "merged" | "unchanged";
  /** The servers that were taken in, or are back. */
  readonly servers: readonly string[];
  readonly notes: readonly string[];
  /** With `--dry-run` a diff of each file. */
  readonly diffs: readonly string[];
}

export interface WrapOptions {
  readonly dryRun?: boolean;
  /** Default: the one that this runs on. */
  readonly platform?: NodeJS.Platform;
  /** Names of servers that stay outside. Throws `not_found` for a name that the file does not have. */
  readonly except?: readonly string[];
}

/**
 * Puts the gateway in front of all servers of a configuration, in each place that has any. First copies the
 * original, byte for byte, to `FILE.byref.json`, which the gateway reads. Leaves servers that only the client can
 * start, and those for which a rule of the client would no longer apply. A wrapped file is wrapped anew, as it would be
 * unwrapped.
 */
export function wrapFile(name: string, options: WrapOptions = {}): WrapReport {
  const { dryRun = false, platform = process.platform, except = [] } = options;
  // On Windows, `npx` is a script.
  const command = platform === "win32" ? ["cmd", "/c", ...NPX] : NPX;
  const client = readClientFile(name);
  const { file, mode, groups } = client;
  const copy = copyOf(client);
  const missing = except.find((one) => !groups.some(({ servers }) => Object.hasOwn(servers, one)));
  if (missing !== undefined) {
    const message = `--except ${missing}: ${file} has no such server. One behind the gateway needs byref mcp unwrap first.`;
    throw new ByrefError("not_found", message);
  }
  const before = isWrapped(client) ? copyFor(client) : undefined;
  const source = before === undefined ? client : unwrapped(client, before);
  let { text } = source;
  const taken: string[] = [];
  const notes: string[] = [];
  for (const group of source.groups) {
    const there = serversAt(client.text, group.path);
    const own = ownEntryIn(there, copy);
    const gateway = own ?? nameFor(group, name);
    const inside: Record<string, unknown> = {};
    const outside: Record<string, unknown> = {};
    const excepted: string[] = [];
    for (const [server, value] of Object.entries(group.servers)) {
      const unusable = unusableBecause(value);
      const why = except.includes(server)
        ? "You have excepted it."
        : (unusable ?? ruleAgainst(client, { name: server, group, gateway }));
      (why === undefined ? inside : outside)[server] = value;
      if (why !== undefined) notes.push(`${server} stays outside the gateway. ${why}`);
      // It starts none of the others anyway.
      if (why !== undefined && unusable === undefined) excepted.push(server);
    }
    const added = Object.keys(inside).filter(
      (one) => own === undefined || Object.hasOwn(there, one),
    );
    taken.push(...added);
    notes.push(...added.flatMap((one) => notesOn(one, group.servers[one], copy)));
    const entryOptions = { command, copy, servers: inside, except: excepted };
    const entry = entryFor(group, entryOptions, own === undefined ? undefined : there[own]);
    const isUsed = own !== undefined || added.length > 0;
    text = withServers(text, group.path, isUsed ? { [gateway]: entry, ...outside } : outside);
  }
  const isCopied = before === undefined || before.text === source.text;
  if (isCopied && isDeepStrictEqual(parse(text), parse(client.text)))
    return { file, outcome: "unchanged", servers: taken, notes, diffs: [] };

  const diffs = dryRun
    ? [diffOf(copy, before?.text, source.text), diffOf(file, client.text, text)]
    : [];
  const earlier = before === undefined ? earlierCopy(client) : undefined;
  if (earlier !== undefined) notes.push(`${copy} was there, and is kept as ${earlier}.`);
  if (!dryRun) {
    refuseIfChanged(client);
    if (earlier !== undefined) renameSync(copy, earlier);
    writeAtomically(copy, source.bytes, mode);
    writeAtomically(file, withText(client, text).bytes, mode);
  }
  return { file, outcome: "wrapped", servers: taken, notes, diffs };
}

/**
 * Restores the original, byte for byte. If the file was changed since it was wrapped, its other keys and the added
 * servers stay.
 */
export function unwrapFile(name: string, { dryRun = false }: WrapOptions = {}): WrapReport {
  const client = readClientFile(name);
  const { file, mode } = client;
  const copy = copyOf(client);
  if (!isWrapped(client)) {
    const notes = ["It has no entry that byref mcp wrap wrote."];
    return { file, outcome: "unchanged", servers: [], notes, diffs: [] };
  }
  const original = copyFor(client);
  const source = unwrapped(client, original);
  const isMerged = source !== original;
  const notes = isMerged ? ["It has changed since it was wrapped: those changes stay."] : [];
  const diffs = dryRun
    ? [diffOf(file, client.text, source.text), diffOf(copy, original.text, undefined)]
    : [];
  if (!dryRun) {
    refuseIfChanged(client);
    writeAtomically(file, source.bytes, mode);
    rmSync(copy);
  }
  const servers = original.groups.flatMap(({ path }) => Object.keys(serversAt(source.text, path)));
  return { file, outcome: isMerged ? "merged" : "unwrapped", servers, notes, diffs };
}

const NPX = ["npx", "-y", "byref"];

function isWrapped(client: ClientFile): boolean {
  return client.groups.some(({ servers }) => ownEntryIn(servers, copyOf(client)) !== undefined);
}

/** The file without the gateway: the copy, or the file with its servers if it has changed since it was wrapped. */
function unwrapped(client: ClientFile, copy: ClientFile): ClientFile {
  let { text } = client;
  for (const { path, servers } of copy.groups) {
    if (Object.keys(servers).length > 0) text = withServersOf(text, path, copy.text);
  }
  for (const { path, servers } of client.groups) {
    const own = ownEntryIn(servers, copy.file);
    const known = serversAt(text, path);
    for (const [name, value] of Object.entries(servers)) {
      const isKnown = isDeepStrictEqual(known[name], value);
      if (name !== own && !isKnown) text = edited(text, [...path, name], value);
      // The copy has no servers in this place.
      if (name === own && isKnown) text = edited(text, [...path, name], undefined);
    }
  }
  return text === copy.text ? copy : withText(client, text);
}

/** Writes the servers of a place, if they are others than it has. */
function withServers(text: string, path: ServerGroup["path"], servers: object): string {
  return isDeepStrictEqual(serversAt(text, path), servers) ? text : edited(text, path, servers);
}

function copyOf({ file }: ClientFile): string {
  return `${file}.byref.json`;
}

function copyFor(client: ClientFile): ClientFile {
  const copy = copyOf(client);
  if (existsSync(copy)) return readClientFile(copy);
  const message = `${client.file} starts the gateway with ${copy}, which is missing. Restore that file, or remove the gateway's entry.`;
  throw new ByrefError("not_found", message);
}

/** The name under which a copy of an earlier time is kept, if it has something else. */
function earlierCopy(client: ClientFile): string | undefined {
  const copy = copyOf(client);
  if (!existsSync(copy) || readFileSync(copy).equals(client.bytes)) return undefined;
  let name = `${copy}.old`;
  for (let count = 2; existsSync(name); count++) name = `${copy}.old-${count}`;
  return name;
}

function refuseIfChanged({ file, bytes }: ClientFile): void {
  if (readFileSync(file).equals(bytes)) return;
  throw new ByrefError("conflict", `${file} was changed in the meantime. Run this again.`);
}

/**
 * Writes a file so that another process sees the old or the new content, also after a crash. The file has the mode
 * under any umask. A link at its place is replaced.
 */
function writeAtomically(file: string, content: Uint8Array, mode: number): void {
  const draft = `${file}.${process.pid}.tmp`;
  // An earlier process of this number may have left one. A link is never followed.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, content, { flag: "wx", mode: 0o600, flush: true });
    chmodSync(draft, mode & 0o777);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Returns the report as lines for a person. */
export function linesOf(report: WrapReport, dryRun: boolean): string {
  return [summaryOf(report, dryRun), ...report.notes, ...report.diffs].join("\n");
}

function summaryOf({ file, servers, outcome }: WrapReport, dryRun: boolean): string {
  const would = dryRun ? "would be " : "";
  const names = servers.length === 0 ? "the gateway's entry" : servers.join(", ");
  switch (outcome) {
    case "unchanged":
      return `${file}: nothing to do.`;
    case "merged":
      return `${file}: the gateway ${dryRun ? "would be" : "was"} taken out (${names}), but this is not the original.`;
    default:
      return `${file}: ${would}${outcome} (${names}).`;
  }
}

function diffOf(file: string, before: string | undefined, after: string | undefined): string {
  if (before === undefined) return `+++ ${file} would be written, with the original.`;
  if (after === undefined) return `--- ${file} would be removed.`;
  const { diff: lines, more = 0 } = lineDiffs.diffOf(before, after, limits.maxDiffLines);
  const rest = more > 0 ? `\n… and ${more} more lines` : "";
  return `--- ${file}\n+++ ${file}\n${lines}${rest}`;
}
