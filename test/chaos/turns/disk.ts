import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databasesIn, OBJECTS, reading, rowsOf } from "../disk.ts";
import { markerIn } from "./script.ts";

/** What a conversation's object has stored about its turns. */
interface StoredTurns {
  /** Markers of the turns whose question is in the history. */
  readonly questions: ReadonlySet<string>;
  /** Head of the newest turn, if any. */
  readonly head: Head | undefined;
}

interface Head {
  readonly conversation: string;
  readonly isOpen: boolean;
}

/** Reads the turns of a stopped server. */
export function readTurns(stateDir: string): readonly StoredTurns[] {
  const folder = join(stateDir, OBJECTS);
  return databasesIn(folder).map((id) =>
    reading(join(folder, `${id}.sqlite`), (database) => {
      const messages = rowsOf(database, "message", `SELECT body FROM message WHERE role = 'user'`);
      const heads = rowsOf(database, "turn", `SELECT head FROM turn WHERE part = 0`);
      const markers = messages.map(({ body }) => markerIn(String(body)) ?? "");
      const head = heads[0]?.head;
      return {
        questions: new Set(markers),
        // Written by the runtime.
        head: head === undefined ? undefined : (JSON.parse(String(head)) as Head),
      };
    }),
  );
}

/**
 * Reads the turns of a running server from a copy. Returns undefined if the copy was made during a change.
 */
export function glanceAtTurns(stateDir: string): readonly StoredTurns[] | undefined {
  const copy = mkdtempSync(join(tmpdir(), "byref-turns-"));
  try {
    cpSync(join(stateDir, OBJECTS), join(copy, OBJECTS), { recursive: true });
    return readTurns(copy);
  } catch {
    return undefined;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Returns the conversations with a turn that has not ended and does not wait for an approval. */
export function openOn(objects: readonly StoredTurns[]): readonly string[] {
  return objects.flatMap(({ head }) => (head?.isOpen === true ? [head.conversation] : []));
}
