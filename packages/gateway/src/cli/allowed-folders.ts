import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { constants, lstat, open, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ByrefError, messageOf, requireAtMost } from "../../../../src/errors.ts";
import type { FileSaver } from "../own-tools.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/**
 * Saves files in the folders that `--allow-write` names. A file is written beside its place and then moved there, so
 * that another program sees the old or the new content. Links are not followed below a folder's own path. Nothing is
 * written to the folders of `kept`, which are the gateway's own. Throws `bad_path` for what is not a folder.
 */
export function allowedFolders(given: readonly string[], kept: readonly string[] = []): FileSaver {
  const own = kept.map((folder) => (existsSync(folder) ? realpathSync.native(folder) : folder));
  /** The folders as given, and with links resolved. */
  const folders = given.map((folder) => {
    const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder) throw new ByrefError("bad_path", `--allow-write: ${folder} is not a folder.`);
    return { given: resolve(folder), real: realpathSync.native(folder) };
  });
  return { save };

  /** A relative path begins in the first of the folders. */
  async function save(file: string, content: AsyncIterable<Uint8Array>) {
    requireName(file);
    const place = resolve(folders[0]?.real ?? "", file);
    const parent = await folderOf(place);
    const held = await heldFolder(parent);
    try {
      const { folder } = held;
      await requireSame(folder, parent);
      const target = join(folder, basename(place));
      const mode = await modeOf(target, file);
      const draft = join(folder, `.byref-${randomUUID()}.tmp`);
      try {
        const bytes = await writeNew(draft, { content, mode });
        await requireSame(folder, parent);
        await modeOf(target, file);
        await rename(draft, target);
        return { file: join(parent, basename(place)), bytes };
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    } finally {
      await held.close();
    }
  }

  async function folderOf(place: string): Promise<string> {
    const folder = dirname(place);
    // Paths outside are not looked up, so that errors reveal nothing about them.
    const isNamed = folders.some(
      (one) => isInside(folder, one.given) || isInside(folder, one.real),
    );
    if (!isNamed) throw outside(place);
    const real = await realpath(folder).catch((error: unknown) => {
      const code = codeOfSystem(error);
      const why = code === "ENOENT" ? "it does not exist, and is not created" : code;
      throw new ByrefError("bad_path", `The folder of ${place} cannot be used: ${why}.`);
    });
    if (!folders.some((allowed) => isInside(real, allowed.real))) throw outside(place);
    if (own.some((one) => isInside(real, one))) {
      throw new ByrefError("bad_path", `${place} is in a folder of Byref's own.`);
    }
    return real;
  }

  /** The folder may have been moved since, or replaced by a link. */
  async function requireSame(folder: string, parent: string): Promise<void> {
    const now = await realpath(folder).catch(() => undefined);
    if (now !== parent) throw outside(parent);
  }

  function outside(place: string): ByrefError {
    const message = `${place} is not in a folder that may be written to: ${folders.map((one) => one.given).join(", ")}.`;
    return new ByrefError("bad_path", message);
  }
}

/**
 * Opens the folder and returns a path to it. Where the system shows open files as paths, it leads to the open
 * folder, wherever the folder's name leads meanwhile. Elsewhere it is the folder's own path.
 */
async function heldFolder(parent: string) {
  // Windows opens no folders.
  if (process.platform === "win32") return { folder: parent, close: async () => undefined };
  const handle = await open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const path = `/proc/self/fd/${handle.fd}`;
  return { folder: existsSync(path) ? path : parent, close: () => handle.close() };
}

/** Returns the mode of the file that is replaced. Throws `bad_path` for anything but a file. */
async function modeOf(target: string, file: string): Promise<number> {
  try {
    const found = await lstat(target);
    if (found.isFile()) return found.mode & 0o777;
    const kind = found.isSymbolicLink() ? "a link" : found.isDirectory() ? "a folder" : "no file";
    throw new ByrefError("bad_path", `${file} is ${kind}; name another file.`);
  } catch (error) {
    if (codeOfSystem(error) === "ENOENT") return 0o666 & ~process.umask();
    throw error;
  }
}

/** Writes a file that did not exist and returns its size. Throws `limit_exceeded`. */
async function writeNew(
  draft: string,
  { content, mode }: { readonly content: AsyncIterable<Uint8Array>; readonly mode: number },
): Promise<number> {
  // Windows has no `O_NOFOLLOW`.
  const written = await open(draft, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600);
  try {
    let bytes = 0;
    for await (const piece of content) {
      bytes += piece.length;
      requireAtMost("maxValueBytes", bytes, "Save a part of it.");
      for (let at = 0; at < piece.length;) {
        at += (await written.write(piece, at)).bytesWritten;
      }
    }
    await written.chmod(mode);
    await written.sync();
    return bytes;
  } finally {
    await written.close();
  }
}

function requireName(file: string): void {
  const isUsable =
    file.length <= MAX_PATH_CHARS && !NOT_IN_PATHS.test(file) && !NOT_ON_WINDOWS.test(file);
  if (isUsable) return;
  const message = `"${file.slice(0, 80)}" cannot be the path of a file. It has no "..", no line breaks, does not end in a slash, and at most ${MAX_PATH_CHARS} characters.`;
  throw new ByrefError("bad_path", message);
}

const MAX_PATH_CHARS = 1_024;
const NOT_IN_PATHS = /(?:^|[/\\])\.\.(?:[/\\]|$)|^$|(?:^|[/\\])\.?$|[\p{Cc}\p{Cs}]/u;
/** Streams of a file, devices, and ends that Windows removes. */
const NOT_ON_WINDOWS =
  process.platform === "win32"
    ? /^.{2,}:|[. ]$|(?:^|[/\\])(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu
    : /$^/u;

function isInside(place: string, folder: string): boolean {
  const path = relative(folder, place);
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function codeOfSystem(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? messageOf(error);
}
