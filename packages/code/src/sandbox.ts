/**
 * Runs unreviewed code in isolation. Only JSON text crosses the boundary. The code itself produces the text
 * that comes back, so that text is untrusted.
 *
 * Promises: a run sees no state of earlier runs and leaves none behind; it has no network and no clock but
 * its own. After `run` has settled, `call` and `read` are no longer called. A sandbox does not promise to
 * limit the size of its results, nor to stop a run that never yields its thread.
 */
export interface Sandbox {
  /** Rejects only if the sandbox itself fails. Errors of the code are data. */
  run(job: SandboxJob): Promise<SandboxRun>;
}

export interface SandboxJob {
  /** The body of an async function. Its first line is line 1. */
  readonly code: string;
  /** Values as JSON text, by the identifiers that the code uses. */
  readonly values: readonly NamedText[];
  /**
   * Variables that are too large for `values`: their metadata as a JSON object. The code reads them in
   * parts.
   */
  readonly large: readonly NamedText[];
  /** Runs a tool call from the code. Never rejects. */
  call(tool: string, input: string): Promise<SandboxAnswer>;
  /**
   * Reads a part of a large value. The path has the syntax that follows a name in a reference. Never
   * rejects.
   */
  read(name: string, path: string): Promise<SandboxAnswer>;
  /** Ends the run early, as a time-out does. */
  readonly signal: AbortSignal;
  /** Time limit of the run in milliseconds of wall-clock time. */
  readonly timeMs: number;
}

export type NamedText = readonly [name: string, text: string];

/** JSON text, or an error that the code receives as an exception. */
export type SandboxAnswer = { readonly text: string } | { readonly error: string };

export interface SandboxRun {
  /** The returned value as JSON text; unset for `undefined`. */
  readonly returned?: string;
  /** The values assigned to `vars` as JSON text, in the order of the assignments. */
  readonly assigned: readonly NamedText[];
  /** Console output, possibly shortened. */
  readonly console: string;
  /** Set if the code did not finish. Then nothing is returned or assigned. */
  readonly error?: SandboxError;
}

export interface SandboxError {
  readonly kind: "thrown" | "timeout";
  /** Name and message of the error, such as `TypeError: x is not a function`. */
  readonly message: string;
  /** Line of the code, counted from 1; unset if unknown. */
  readonly line?: number;
}
