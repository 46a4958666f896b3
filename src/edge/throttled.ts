/** What it returns has `work` done once, `delayMs` after it was first asked for, however often it is asked. */
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
