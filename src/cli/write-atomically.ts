import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** Writes a file so that another process sees the old or the new content, also after a crash. */
export function writeAtomically(file: string, content: string | Uint8Array, mode = 0o600): void {
  const draft = `${file}.${process.pid}.tmp`;
  const handle = openSync(draft, "w", mode);
  try {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  try {
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
