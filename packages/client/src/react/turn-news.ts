type Listener = (variable: string) => void;

const listeners = new Map<string, Set<Listener>>();

/** Notifies listeners that a turn, whose stream a transport of this page reads, has written or evicted a variable. */
export function tell(conversation: string, variable: string): void {
  for (const listener of listeners.get(conversation) ?? []) listener(variable);
}

/** Returns a function that ends it. */
export function listen(conversation: string, listener: Listener): () => void {
  const all = listeners.get(conversation) ?? new Set();
  listeners.set(conversation, all.add(listener));
  return () => {
    all.delete(listener);
    if (all.size === 0) listeners.delete(conversation);
  };
}
