import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ByrefError } from "../../../../src/errors.ts";
import { dataFolder } from "./data-folder.ts";
import { digestOf } from "./digest.ts";

/** The files of a workspace's state. */
export interface StatePlace {
  /** Default: the platform's folder for data. */
  readonly state?: string | undefined;
  /** Default: a digest of the working folder. */
  readonly workspace?: string | undefined;
}

/**
 * Returns the folder, which is created if it is missing. Only its owner may read it. Throws `bad_path` if something
 * else has its name, such as a link that leads out of the state folder.
 */
export function stateFolder({ state = dataFolder(), workspace }: StatePlace): string {
  const folder = join(state, folderName(workspace ?? digestOf(process.cwd())));
  mkdirSync(state, { recursive: true, mode: 0o700 });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    requireOwnFolder(folder);
  }
  return folder;
}

/** A plain name is the folder's name. Any other ends in a digest, so that no two workspaces share a folder. */
function folderName(workspace: string): string {
  if (PLAIN_NAME.test(workspace)) return workspace;
  return `${workspace.replaceAll(/[^\w-]/gu, "_").slice(0, 80)}-${digestOf(workspace)}`;
}

/** Windows removes a dot at the end. */
const PLAIN_NAME = /^[\w-](?:[\w.-]{0,98}[\w-])?$/u;

function requireOwnFolder(folder: string): void {
  const found = lstatSync(folder);
  // Windows has no owners here.
  const isOwn = found.uid === (process.getuid?.() ?? found.uid);
  if (found.isDirectory() && isOwn) return;
  throw new ByrefError(
    "bad_path",
    `${folder} is no folder of yours; the gateway keeps nothing in it.`,
  );
}

/** Returns the workspace's key for what clients send back, which is made on first use. */
export function signingKey(folder: string): Uint8Array {
  const file = join(folder, "key");
  try {
    writeFileSync(file, randomBytes(32), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file);
}
