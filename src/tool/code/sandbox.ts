/**
 * Runs code that nobody has read, apart from everything else. What crosses in either direction is JSON
 * text; what comes back has been written by the code, and is to be believed as little as that.
 *
 * Promises: each run is alone (no state of an earlier run, none is left behind), and has no network and no
 * clock but its own. Once `run` has settled, `call` and `read` are not called any more. It does not
 * promise to bound the size of what it returns, nor to stop a run that never lets go of its thread.
 */
export interface Sandbox {
  /** Rejects only if the sandbox itself is broken; what the code did is data. */
  run(job: SandboxJob): Promise<SandboxRun>;
}

export interface SandboxJob {
  /** The body of an async function. Line 1 is its first. */
  readonly code: string;
  /** What the code has under these names, as JSON text. The names are identifiers. */
  readonly values: readonly NamedText[];
  /** What is too large for that: its metadata, as a JSON object. The code asks for parts of it. */
  readonly large: readonly NamedText[];
  /** A tool call that the code makes. Never rejects. */
  call(tool: string, input: string): Promise<SandboxAnswer>;
  /** A part of a large value; the path as it is written behind a name. Never rejects. */
  read(name: string, path: string): Promise<SandboxAnswer>;
  /** Ends the run early: it is then as if its time were over. */
  readonly signal: AbortSignal;
  /** Wall-clock time that the run may take. */
  readonly timeMs: number;
}

export type NamedText = readonly [name: string, text: string];

/** JSON text, or what to throw into the code. */
export type SandboxAnswer = { readonly text: string } | { readonly error: string };

export interface SandboxRun {
  /** What the code returned, as JSON text; not set for `undefined`. */
  readonly returned?: string;
  /** What it assigned to `vars`, in the order of the assignments, as JSON text. */
  readonly assigned: readonly NamedText[];
  /** What it wrote to the console, shortened or not. */
  readonly console: string;
  /** Set if the code did not come to its end: then nothing is returned or assigned. */
  readonly error?: SandboxError;
}

export interface SandboxError {
  readonly kind: "thrown" | "timeout";
  /** Name and message, such as `TypeError: x is not a function`. */
  readonly message: string;
  /** Of the code, from 1; not set if it is not known. */
  readonly line?: number;
}
