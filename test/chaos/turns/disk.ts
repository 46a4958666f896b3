import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databasesIn, OBJECTS, reading, rowsOf } from "../disk.ts";
import { markerIn } from "./script.ts";

/** What one conversation's object has written down of its turns. */
interface StoredTurns {
  /** The turns whose question is in the history. */
  readonly questions: ReadonlySet<string>;
  /** Of its newest turn, if there was one. */
  readonly head: Head | undefined;
}

interface Head {
  readonly conversation: string;
  readonly isOpen: boolean;
}

/** Of a server that does not run. */
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
        // The runtime wrote it.
        head: head === undefined ? undefined : (JSON.parse(String(head)) as Head),
      };
    }),
  );
}

/** The same while the server runs, from a copy; undefined if that was caught in a change. */
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

/** Conversations with a turn that has not ended and does not wait for a person. */
export function openOn(objects: readonly StoredTurns[]): readonly string[] {
  return objects.flatMap(({ head }) => (head?.isOpen === true ? [head.conversation] : []));
}
