import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/**
 * Writes a file so that another process sees the old or the new content, also after a crash. The file has the
 * mode under any umask; by default only its owner may read it. A link at its place is replaced.
 */
export function writeAtomically(file: string, content: string | Uint8Array, mode?: number): void {
  const draft = `${file}.${process.pid}.tmp`;
  // An earlier process of this number may have left one. A link is never followed.
  rmSync(draft, { force: true });
  try {
    writeDraft(draft, content, mode);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function writeDraft(draft: string, content: string | Uint8Array, mode?: number): void {
  const handle = openSync(draft, "wx", 0o600);
  try {
    if (mode !== undefined) fchmodSync(handle, mode & 0o777);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
