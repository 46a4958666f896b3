import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A conversation's Durable Object, read from its SQLite file. */
interface StoredObject {
  readonly id: string;
  readonly variables: readonly StoredVariable[];
  /** Number of bytes by body id. */
  readonly chunks: ReadonlyMap<string, number>;
  readonly garbage: ReadonlySet<string>;
  readonly isDeleting: boolean;
  /** True if something was written and the conversation was not deleted. */
  readonly isLiving: boolean;
  readonly hasAlarm: boolean;
}

interface StoredVariable {
  readonly name: string;
  readonly location: string;
  readonly bodyId: string | undefined;
  readonly bytes: number;
}

/** The contents of a state folder, read from the files of workerd and of Miniflare's bucket. */
interface Disk {
  readonly objects: readonly StoredObject[];
  /** Number of bytes by key. */
  readonly bucket: ReadonlyMap<string, number>;
  /** Number of multipart uploads that were never completed. R2 aborts those by itself after a week. */
  readonly openUploads: number;
}

export const OBJECTS = "v3/do/byref-Conversation";
const BUCKET = "v3/r2/miniflare-R2BucketObject";

/** Reads the state of a stopped server. */
export function readDisk(stateDir: string): Disk {
  const objectsFolder = join(stateDir, OBJECTS);
  const alarms = alarmsIn(objectsFolder);
  const objects = databasesIn(objectsFolder).map((id) =>
    reading(join(objectsFolder, `${id}.sqlite`), (database) =>
      objectFrom(database, id, alarms.has(id)),
    ),
  );
  return { objects, ...readBucket(stateDir) };
}

/** Reads only the bucket. */
function readBucket(stateDir: string): Pick<Disk, "bucket" | "openUploads"> {
  const folder = join(stateDir, BUCKET);
  const bucket = new Map<string, number>();
  let openUploads = 0;
  for (const id of databasesIn(folder)) {
    reading(join(folder, `${id}.sqlite`), (database) => {
      const objects = rowsOf(database, "_mf_objects", `SELECT key, size FROM _mf_objects`);
      for (const { key, size } of objects) bucket.set(String(key), Number(size));
      const uploads = `SELECT 1 FROM _mf_multipart_uploads WHERE state = 0`;
      openUploads += rowsOf(database, "_mf_multipart_uploads", uploads).length;
    });
  }
  return { bucket, openUploads };
}

/**
 * Counts the objects in the bucket that belong to no variable and to no earlier version of one, while the
 * server runs. Returns undefined if the copy was made during a change.
 */
export function countOrphans(stateDir: string): number | undefined {
  const copy = mkdtempSync(join(tmpdir(), "byref-disk-"));
  try {
    for (const folder of [BUCKET, OBJECTS]) {
      cpSync(join(stateDir, folder), join(copy, folder), { recursive: true });
    }
    const { objects, bucket, openUploads } = readDisk(copy);
    const variablesOnly = objects.map((object) => ({ ...object, chunks: new Map() }));
    return orphansOn({ objects: variablesOnly, bucket, openUploads }).length;
  } catch {
    return undefined;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Returns what no crash may leave behind: rows without their bytes, and bytes that nothing references. */
export function wrongOnDisk({ objects, bucket }: Disk): readonly string[] {
  const wrong: string[] = [];
  const known = new Set<string>();
  for (const object of objects) {
    const { id, variables, chunks, garbage, isDeleting } = object;
    for (const { name, location, bodyId, bytes } of variables) {
      if (bodyId === undefined) continue;
      const key = `${id}/${bodyId}`;
      known.add(location === "r2" ? key : bodyId);
      const found = location === "r2" ? bucket.get(key) : chunks.get(bodyId);
      if (found !== bytes)
        wrong.push(`${id} ${name}: ${found ?? "no"} bytes of ${bytes} in ${location}`);
      if (garbage.has(bodyId)) wrong.push(`${id} ${name}: its bytes count as garbage`);
    }
    for (const bodyId of garbage) known.add(bodyId).add(`${id}/${bodyId}`);
    for (const bodyId of chunks.keys()) {
      if (!known.has(bodyId)) wrong.push(`${id}: chunks ${bodyId} that nothing names`);
    }
    if (isDeleting) for (const key of bucket.keys()) if (key.startsWith(`${id}/`)) known.add(key);
  }
  for (const key of bucket.keys()) {
    if (!known.has(key)) wrong.push(`${key} in the bucket, that nothing names`);
  }
  return wrong;
}

/** Returns the objects without an alarm that are in use or half deleted. Only a request would wake them. */
export function forgottenOn({ objects }: Disk): readonly string[] {
  return objects
    .filter(({ isLiving, isDeleting, hasAlarm }) => (isLiving || isDeleting) && !hasAlarm)
    .map(({ id, garbage, isDeleting }) =>
      isDeleting ? `${id}: half deleted` : `${id}: ${garbage.size} bodies in its garbage`,
    );
}

/** Returns the keys of bytes that belong to no variable and have yet to be swept. */
export function orphansOn({ objects, bucket }: Disk): readonly string[] {
  const owned = new Set(
    objects.flatMap(({ id, variables }) => variables.map(({ bodyId }) => `${id}/${bodyId}`)),
  );
  const chunks = objects.flatMap(({ id, chunks }) =>
    Array.from(chunks.keys(), (bodyId) => `${id}/${bodyId}`),
  );
  return [...bucket.keys(), ...chunks].filter((key) => !owned.has(key));
}

function objectFrom(database: DatabaseSync, id: string, hasAlarm: boolean): StoredObject {
  const rows = (table: string, sql: string) => rowsOf(database, table, sql);
  const meta = new Set(rows("meta", `SELECT key FROM meta`).map(({ key }) => String(key)));
  return {
    id,
    hasAlarm,
    isDeleting: meta.has("deleting"),
    isLiving: meta.has("schema"),
    // An earlier version owns its body as long as its variable exists.
    variables: [
      ...rows("variable", `SELECT name, location, body_id, bytes FROM variable`),
      ...rows(
        "earlier_version",
        `SELECT name, location, body_id, bytes FROM earlier_version
         WHERE name IN (SELECT name FROM variable)`,
      ),
    ].map(({ name, location, body_id: bodyId, bytes }) => ({
      name: String(name),
      location: String(location),
      bodyId: bodyId === null ? undefined : String(bodyId),
      bytes: Number(bytes),
    })),
    chunks: new Map(
      rows("chunk", `SELECT id, sum(length(bytes)) AS bytes FROM chunk GROUP BY id`).map(
        (row) => [String(row.id), Number(row.bytes)] as const,
      ),
    ),
    garbage: new Set(rows("garbage", `SELECT id FROM garbage`).map((row) => String(row.id))),
  };
}

function alarmsIn(folder: string): ReadonlySet<string> {
  const path = join(folder, "metadata.sqlite");
  if (!existsSync(path)) return new Set();
  const rows = reading(path, (database) =>
    rowsOf(database, "_cf_ALARM", `SELECT actor_id FROM _cf_ALARM`),
  );
  return new Set(rows.map((row) => String(row.actor_id)));
}

/** Returns the ids of the objects that have a database in the folder. */
export function databasesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
    .map((name) => name.slice(0, -".sqlite".length));
}

const LOCKED_MS = 10_000;

/**
 * Opens a database without changing it: the write-ahead log stays as it is. If a kill left a rollback journal
 * instead, opening the database rolls it back, as the next server would.
 */
export function reading<Result>(path: string, work: (database: DatabaseSync) => Result): Result {
  const readOnly = !existsSync(`${path}-journal`);
  // On a busy machine a killed process may hold its locks for a moment.
  const database = new DatabaseSync(path, { readOnly, timeout: LOCKED_MS });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Returns no rows if the table does not exist. */
export function rowsOf(database: DatabaseSync, table: string, sql: string) {
  const found = database
    .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`)
    .get(table);
  return found === undefined ? [] : database.prepare(sql).all();
}
