import { vi } from "vitest";

/** Longer than anything takes on a busy machine, shorter than the time after which a test counts as stuck. */
const timeout = 5 * 60_000;

type Options = Parameters<typeof vi.waitFor>[1];

const patient = (options: Options) =>
  typeof options === "object" ? { ...options, timeout } : { timeout };

// `vi.waitFor` and `vi.waitUntil` give up after a second, or after what a test says: both are limits of speed.
// This file runs before each test file, and the files of a worker share `vi`.
const mark = Symbol.for("byref.patience");
const { waitFor, waitUntil } = vi;
if (!(mark in vi)) {
  Object.assign(vi, {
    [mark]: true,
    waitFor: (check: () => unknown, options?: Options) => waitFor(check, patient(options)),
    waitUntil: (check: () => unknown, options?: Options) => waitUntil(check, patient(options)),
  });
}
