/** The same result, not waited for once the signal aborts: then it rejects with the signal's reason. */
export function unlessAborted<Result>(
  result: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  return Promise.race([result, aborted]).finally(() => signal.removeEventListener("abort", stop));
}
