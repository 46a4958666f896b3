/**
 * Returns a function that calls `work` once, `delayMs` after its first call. Calls until then have no effect.
 */
export function throttled(delayMs: number, work: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(() => {
      isAsked = false;
      work();
    }, delayMs);
  };
}
