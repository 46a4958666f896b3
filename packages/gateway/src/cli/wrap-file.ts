import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { parse } from "jsonc-parser";
import { ByrefError } from "../../../../src/errors.ts";
import { unusableBecause } from "../configuration.ts";
import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import {
  type ClientFile,
  edited,
  entryFor,
  nameFor,
  noteOnAllowed,
  notesOn,
  ownEntryIn,
  readClientFile,
  ruleAgainst,
  type ServerGroup,
  serversAt,
  withServersOf,
  withText,
} from "./client-file.ts";
import { writeAtomically } from "./state.ts";
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
  /** The texts of files before and after, by file; undefined for none. */
  readonly changes: readonly Change[];
}

interface Change {
  readonly file: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface WrapOptions {
  readonly dryRun?: boolean;
  /** How a client starts the gateway. Default: `npx -y byref`; on Windows, where `npx` is a script, by `cmd`. */
  readonly command?: readonly string[];
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
  const { command = platform === "win32" ? ["cmd", "/c", ...NPX] : NPX } = options;
  const client = readClientFile(name);
  const { file, mode } = client;
  const copy = copyOf(client);
  requireServers(client, except);
  const before = isWrapped(client) ? copyFor(client) : undefined;
  const source = before === undefined ? client : unwrapped(client, before).source;
  const places = source.groups.map((group) => {
    const there = serversAt(client.text, group.path);
    const own = ownEntryIn(there, copy);
    const gateway = own ?? nameFor(group, name);
    const reasons = reasonsIn(group, (server, value) => {
      if (except.includes(server)) return "You have excepted it.";
      return unusableBecause(value) ?? ruleAgainst(client, { name: server, group, gateway });
    });
    const { inside, outside } = dividedBy(reasons, group);
    // It starts none of the others anyway.
    const usable = Object.keys(outside).filter((one) => !unusableBecause(outside[one]));
    const entryOptions = { command, copy, servers: inside, except: usable };
    const entry = entryFor(group, entryOptions, own === undefined ? undefined : there[own]);
    const isNew = (one: string) => own === undefined || Object.hasOwn(there, one);
    const taken = Object.keys(inside).filter(isNew);
    const isUsed = own !== undefined || taken.length > 0;
    const servers = isUsed ? { [gateway]: entry, ...outside } : outside;
    return { group, gateway, reasons, taken, servers };
  });
  const text = withServers(source.text, places);
  const servers = places.flatMap(({ taken }) => taken);
  const notes = places.flatMap(({ group, gateway, reasons, taken }) => [
    ...Object.entries(reasons).map(([one, why]) => `${one} stays outside the gateway. ${why}`),
    ...taken.flatMap((one) => notesOn(one, group.servers[one], copy)),
    ...(taken.length === 0 ? [] : noteOnAllowed(client, gateway)),
  ]);
  const isCopied = before === undefined || before.text === source.text;
  if (isCopied && isSame(parse(text), parse(client.text)))
    return { file, outcome: "unchanged", servers, notes, changes: [] };

  const changes = [
    { file: copy, before: before?.text, after: source.text },
    { file, before: client.text, after: text },
  ];
  const earlier = before === undefined ? earlierCopy(client) : undefined;
  if (earlier !== undefined) notes.push(`${copy} was there, and is kept as ${earlier}.`);
  if (!dryRun) {
    refuseIfChanged(client);
    if (earlier !== undefined) renameSync(copy, earlier);
    writeAtomically(copy, source.bytes, mode);
    writeAtomically(file, withText(client, text).bytes, mode);
  }
  return { file, outcome: "wrapped", servers, notes, changes };
}

/**
 * Restores the original, byte for byte. If the file was changed since it was wrapped, its other keys and the added
 * servers stay.
 */
export function unwrapFile(name: string, { dryRun = false }: WrapOptions = {}): WrapReport {
  const client = readClientFile(name);
  const { file, mode } = client;
  const copy = copyOf(client);
  if (!isWrapped(client)) return notWrapped(client, dryRun);
  const original = copyFor(client);
  const { source, isMerged } = unwrapped(client, original);
  const notes = isMerged ? ["It has changed since it was wrapped: those changes stay."] : [];
  const changes = [
    { file, before: client.text, after: source.text },
    { file: copy, before: original.text, after: undefined },
  ];
  if (!dryRun) {
    refuseIfChanged(client);
    writeAtomically(file, source.bytes, mode);
    rmSync(copy);
  }
  const servers = original.groups.flatMap(({ path }) => Object.keys(serversAt(source.text, path)));
  return { file, outcome: isMerged ? "merged" : "unwrapped", servers, notes, changes };
}

const NPX = ["npx", "-y", "byref"];

function isWrapped(client: ClientFile): boolean {
  return client.groups.some(({ servers }) => ownEntryIn(servers, copyOf(client)) !== undefined);
}

/** The file without the gateway: the copy, or the file with its servers if it has changed since it was wrapped. */
function unwrapped(client: ClientFile, copy: ClientFile) {
  const places = client.groups.map(({ path, servers }) => {
    const own = ownEntryIn(servers, copy.file) ?? "";
    const { [own]: entry, ...others } = servers;
    const known = serversAt(copy.text, path);
    const left = Object.entries(others).filter(([name, value]) => isSame(known[name], value));
    const written = { ...(entry !== undefined && { [own]: entry }), ...Object.fromEntries(left) };
    return { group: { path }, own, others, servers: written };
  });
  const isMerged = withServers(copy.text, places) !== client.text;
  if (!isMerged) return { source: copy, isMerged };
  let { text } = client;
  for (const { path, servers } of copy.groups) {
    if (Object.keys(servers).length > 0) text = withServersOf(text, path, copy.text);
  }
  for (const { group, own, others, servers } of places) {
    const known = serversAt(text, group.path);
    const isLeft = own !== "" && isSame(known[own], servers[own]);
    if (isLeft) text = edited(text, [...group.path, own], undefined);
    for (const [name, value] of Object.entries(others)) {
      if (!isSame(known[name], value)) text = edited(text, [...group.path, name], value);
    }
  }
  return { source: withText(client, text), isMerged };
}

/** Why servers of a group stay outside, by name. */
function reasonsIn(
  { servers }: ServerGroup,
  outsideBecause: (name: string, value: unknown) => string | undefined,
): Readonly<Record<string, string>> {
  const reasons = Object.entries(servers).flatMap(([name, value]) => {
    const why = outsideBecause(name, value);
    return why === undefined ? [] : [[name, why]];
  });
  return Object.fromEntries(reasons);
}

function dividedBy(reasons: Readonly<Record<string, string>>, { servers }: ServerGroup) {
  const all = Object.entries(servers);
  const isOutside = ([name]: readonly [string, unknown]) => Object.hasOwn(reasons, name);
  const inside = Object.fromEntries(all.filter((one) => !isOutside(one)));
  return { inside, outside: Object.fromEntries(all.filter(isOutside)) };
}

/** Writes the servers of each place, if they are others than it has. */
function withServers(
  text: string,
  places: readonly {
    readonly group: Pick<ServerGroup, "path">;
    readonly servers: ServerGroup["servers"];
  }[],
): string {
  return places.reduce((result, { group: { path }, servers }) => {
    const isThere = isSame(serversAt(result, path), servers);
    return isThere ? result : edited(result, path, servers);
  }, text);
}

function requireServers({ file, groups }: ClientFile, names: readonly string[]): void {
  const missing = names.find((name) => !groups.some(({ servers }) => Object.hasOwn(servers, name)));
  if (missing !== undefined) {
    const message = `--except ${missing}: ${file} has no such server. One behind the gateway needs byref mcp unwrap first.`;
    throw new ByrefError("not_found", message);
  }
}

function isSame(some: unknown, other: unknown): boolean {
  // Both values are JSON.
  return json.canonicalJson((some ?? null) as Json) === json.canonicalJson((other ?? null) as Json);
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

/** An unwrapping that was cut off leaves a copy, which has nothing that the file does not have. */
function notWrapped(client: ClientFile, dryRun: boolean): WrapReport {
  const { file } = client;
  const copy = copyOf(client);
  const notes = ["It has no entry that byref mcp wrap wrote."];
  const nothing = { file, outcome: "unchanged", servers: [], notes, changes: [] } as const;
  if (!existsSync(copy)) return nothing;
  if (!readFileSync(copy).equals(client.bytes)) {
    return { ...nothing, notes: [`It does not start the gateway, but ${copy} is there.`] };
  }
  if (!dryRun) rmSync(copy);
  return { ...nothing, changes: [{ file: copy, before: client.text, after: undefined }] };
}

function refuseIfChanged({ file, bytes }: ClientFile): void {
  if (readFileSync(file).equals(bytes)) return;
  throw new ByrefError("conflict", `${file} was changed in the meantime. Run this again.`);
}

/** Returns the report as lines for a person, for a dry run with a diff of each file. */
export function linesOf(report: WrapReport, dryRun: boolean): string {
  const { notes, changes } = report;
  return [summaryOf(report, dryRun), ...notes, ...(dryRun ? changes.map(diffOf) : [])].join("\n");
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

function diffOf({ file, before, after }: Change): string {
  if (before === undefined) return `+++ ${file} would be written, with the original.`;
  if (after === undefined) return `--- ${file} would be removed.`;
  const { diff: lines, more = 0 } = lineDiffs.diffOf(before, after, limits.maxDiffLines);
  const rest = more > 0 ? `\n… and ${more} more lines` : "";
  return `--- ${file}\n+++ ${file}\n${lines}${rest}`;
}
