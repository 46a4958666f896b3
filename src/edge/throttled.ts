/**
 * Returns a function that calls `work` once, `delayMs` after its first call. Calls until then have no effect.
 */
export function throttled(delayMs: number, work: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      work();
    }, delayMs);
  };
}
