type Listener = (conversation: string, variable: string) => unknown;

const listeners = new Set<Listener>();

/** Notifies listeners that a turn, whose stream a transport of this page reads, has written or evicted a variable. */
export function tell(...news: Parameters<Listener>): void {
  for (const listener of listeners) listener(...news);
}

/** Returns a function that ends it. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
