import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { ByrefError } from "../../../../src/errors.ts";
import { unusableBecause } from "../configuration.ts";
import { json } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import {
  bytesOf,
  type ClientFile,
  edited,
  entryFor,
  exceptionsIn,
  isAsWritten,
  nameFor,
  noteOnAllowed,
  notesOn,
  ownEntryIn,
  readClientFile,
  renewedEntry,
  ruleAgainst,
  type ServerGroup,
  serversAt,
  withServersOf,
} from "./client-file.ts";
import { digestOf, writeAtomically } from "./state.ts";
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
 * start, and those for which a rule of the client would no longer apply. In a wrapped file, wraps the servers that
 * were added since.
 */
export function wrapFile(name: string, options: WrapOptions = {}): WrapReport {
  const { dryRun = false, platform = process.platform, except = [] } = options;
  const { command = platform === "win32" ? ["cmd", "/c", ...NPX] : NPX } = options;
  const client = readClientFile(name);
  const { file, mode } = client;
  const copy = copyOf(client);
  requireServers(client, except);
  const places = client.groups.map((group) => placeToWrap(group, client, name, except));
  const isWrapped = places.some(({ own }) => own !== undefined);
  const source = isWrapped ? copyFor(client) : client;
  const servers = places.flatMap(({ taken }) => Object.keys(taken));
  const copyText = isWrapped ? withTaken(source.text, places) : source.text;
  const isTaken = servers.length > 0 && copyText === source.text;
  const isChanged = isCopyChanged(places, source.text) && !isTaken;
  const entryOf = ({ group, own, taken, left }: Place) => {
    const digest = isChanged ? undefined : digestOf(copyText);
    const ofGroup = { command, copy, digest, taken: Object.keys(taken) };
    const entryOptions = { ...ofGroup, ...dividedBy(left, serversAt(copyText, group.path)) };
    return own === undefined
      ? { [nameFor(group, name)]: entryFor(group, entryOptions) }
      : { [own]: renewedEntry(group.servers[own], entryOptions) };
  };
  const notes = places.flatMap((place) => [
    ...notesAbout(place, copy),
    ...(Object.keys(place.taken).length === 0 ? [] : noteOnAllowed(client, place.gateway)),
  ]);
  const isCurrent = places.every((place) => {
    const { group, own, taken, left } = place;
    if (Object.keys(taken).length > 0) return false;
    return own === undefined || isSame({ ...entryOf(place), ...left }, group.servers);
  });
  if (isCurrent) return { file, outcome: "unchanged", servers, notes, changes: [] };

  const text = withEntries(client.text, places, entryOf);
  const changes = [
    { file: copy, before: isWrapped ? source.text : undefined, after: copyText },
    { file, before: client.text, after: text },
  ];
  const earlier = isWrapped ? undefined : earlierCopy(client);
  if (earlier !== undefined) notes.push(`${copy} was there, and is kept as ${earlier}.`);
  if (!dryRun) {
    refuseIfChanged(client);
    if (earlier !== undefined) renameSync(copy, earlier);
    writeAtomically(copy, bytesOf(source, copyText), mode);
    writeAtomically(file, bytesOf(client, text), mode);
  }
  return { file, outcome: "wrapped", servers, notes, changes };
}

/**
 * Restores the original, byte for byte. If the file was changed since it was wrapped, its other keys and the added
 * servers stay; if the copy was changed, its servers are restored from the copy.
 */
export function unwrapFile(name: string, { dryRun = false }: WrapOptions = {}): WrapReport {
  const client = readClientFile(name);
  const { file, mode } = client;
  const copy = copyOf(client);
  const places = client.groups.map((group) => {
    const own = ownEntryIn(group, copy);
    const except =
      own === undefined ? Object.keys(group.servers) : exceptionsIn(group.servers[own]);
    return placeIn(group, own, (server, value) =>
      except.includes(server) ? "It was left there." : unusableBecause(value),
    );
  });
  if (!places.some(({ own }) => own !== undefined)) return notWrapped(client, dryRun);

  const original = copyFor(client);
  const same = withEntries(original.text, places, ({ group, own = "" }) => ({
    [own]: group.servers[own],
  }));
  const isMerged = same !== client.text;
  const text = isMerged ? mergedText(client.text, original, places) : original.text;
  const notes: string[] = [];
  if (isMerged) notes.push("It has changed since it was wrapped: those changes stay.");
  const isEdited = isCopyChanged(places, original.text);
  if (isEdited) notes.push(`${copy} was changed: its servers are put back as they are there.`);
  const changes = [
    { file, before: client.text, after: text },
    { file: copy, before: original.text, after: undefined },
  ];
  if (!dryRun) {
    refuseIfChanged(client);
    writeAtomically(file, isMerged ? bytesOf(client, text) : original.bytes, mode);
    rmSync(copy);
  }
  const servers = original.groups.flatMap(({ path }) => Object.keys(serversAt(text, path)));
  return { file, outcome: isMerged || isEdited ? "merged" : "unwrapped", servers, notes, changes };
}

const NPX = ["npx", "-y", "byref"];

interface Place {
  readonly group: ServerGroup;
  /** The name of the gateway's entry, if there is one. */
  readonly own: string | undefined;
  readonly taken: Readonly<Record<string, unknown>>;
  readonly left: Readonly<Record<string, unknown>>;
  /** Why they do, by name. */
  readonly reasons: Readonly<Record<string, string>>;
}

function placeToWrap(
  group: ServerGroup,
  client: ClientFile,
  name: string,
  except: readonly string[],
) {
  const own = ownEntryIn(group, copyOf(client));
  const gateway = own ?? nameFor(group, name);
  const place = placeIn(group, own, (server, value) => {
    if (except.includes(server)) return "You have excepted it.";
    return unusableBecause(value) ?? ruleAgainst(client, { name: server, group, gateway });
  });
  return { ...place, gateway };
}

/** Returns the servers behind the gateway, and the names of those that it has to leave to the client. */
function dividedBy(left: Place["left"], servers: ServerGroup["servers"]) {
  const all = Object.entries(servers);
  const inside = all.filter(([name]) => !Object.hasOwn(left, name));
  const outside = all.filter(([name]) => Object.hasOwn(left, name));
  // It starts none of the others anyway.
  const usable = outside.filter(([, value]) => unusableBecause(value) === undefined);
  return { servers: Object.fromEntries(inside), except: usable.map(([name]) => name) };
}

/** `outsideBecause` returns the reason why a server stays outside, or undefined. */
function placeIn(
  group: ServerGroup,
  own: string | undefined,
  outsideBecause: (name: string, value: unknown) => string | undefined,
): Place {
  const others = Object.entries(group.servers).filter(([name]) => name !== own);
  const reasons = Object.fromEntries(
    others.flatMap(([name, value]) => {
      const why = outsideBecause(name, value);
      return why === undefined ? [] : [[name, why]];
    }),
  );
  const isTaken = ([name]: readonly [string, unknown]) => !Object.hasOwn(reasons, name);
  return {
    group,
    own,
    taken: Object.fromEntries(others.filter(isTaken)),
    left: Object.fromEntries(others.filter((other) => !isTaken(other))),
    reasons,
  };
}

function requireServers({ file, groups }: ClientFile, names: readonly string[]): void {
  const missing = names.find((name) => !groups.some(({ servers }) => Object.hasOwn(servers, name)));
  if (missing !== undefined) {
    const message = `--except ${missing}: ${file} has no such server. One behind the gateway needs byref mcp unwrap first.`;
    throw new ByrefError("not_found", message);
  }
}

function notesAbout({ taken, reasons }: Place, copy: string): string[] {
  const outside = Object.entries(reasons).map(
    ([name, why]) => `${name} stays outside the gateway. ${why}`,
  );
  const inside = Object.entries(taken).flatMap(([name, value]) => notesOn(name, value, copy));
  return [...outside, ...inside];
}

/** Writes an entry in each place that has one, or that has servers to wrap. Leaves the other servers there. */
function withEntries(
  text: string,
  places: readonly Place[],
  entryOf: (place: Place) => object,
): string {
  return places.reduce((result, place) => {
    const { group, own, taken, left } = place;
    if (own === undefined && Object.keys(taken).length === 0) return result;
    return edited(result, group.path, { ...entryOf(place), ...left });
  }, text);
}

function withTaken(text: string, places: readonly Place[]): string {
  let result = text;
  for (const { group, taken } of places) {
    const known = serversAt(text, group.path);
    for (const [name, value] of Object.entries(taken)) {
      if (isSame(known[name], value)) continue;
      result = edited(result, [...group.path, name], value);
    }
  }
  return result;
}

/** The file with the servers of the original. Servers that the file has besides stay. */
function mergedText(text: string, original: ClientFile, places: readonly Place[]): string {
  let result = text;
  for (const { path, servers } of original.groups) {
    if (Object.keys(servers).length > 0) result = withServersOf(result, path, original.text);
  }
  for (const { group, own, taken, left } of places) {
    const known = serversAt(result, group.path);
    if (own !== undefined && isSame(known[own], group.servers[own])) {
      result = edited(result, [...group.path, own], undefined);
    }
    for (const [name, value] of Object.entries({ ...left, ...taken })) {
      if (isSame(known[name], value)) continue;
      result = edited(result, [...group.path, name], value);
    }
  }
  return result;
}

function isSame(some: unknown, other: unknown): boolean {
  // Both values are JSON.
  return json.canonicalJson((some ?? null) as Json) === json.canonicalJson((other ?? null) as Json);
}

function isCopyChanged(places: readonly Place[], copyText: string): boolean {
  return places.some(
    ({ group, own }) => own !== undefined && isAsWritten(group.servers[own], copyText) === false,
  );
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
  const diff = new lineDiffs.LineDiff(limits.maxDiffLines);
  for (const segment of lineDiffs.lineSegments(before, after)) diff.add(segment);
  const { diff: lines, more = 0 } = diff.end();
  const rest = more > 0 ? `\n… and ${more} more lines` : "";
  return `--- ${file}\n+++ ${file}\n${lines}${rest}`;
}
