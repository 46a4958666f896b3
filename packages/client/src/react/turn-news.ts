type Listener = (variable: string) => void;

/** Streams that the transports of this page read, or ask for, by the conversation's id: a turn's is read once. */
const readings = new Map<string, Set<Promise<boolean>>>();
const listeners = new Map<string, Set<Listener>>();

/** Resolves with true if a transport reads a stream of the conversation. A pending request may find none. */
export async function isRead(conversation: string): Promise<boolean> {
  const found = await Promise.all(readings.get(conversation) ?? []);
  return found.includes(true);
}

/**
 * Records that a transport requests a stream; `found` resolves with false if there is none. Returns a function that
 * removes the record.
 */
export function beginReading(conversation: string, found: Promise<boolean>): () => void {
  const all = readings.get(conversation) ?? new Set();
  readings.set(conversation, all.add(found));
  return () => {
    all.delete(found);
    if (all.size === 0 && readings.get(conversation) === all) readings.delete(conversation);
  };
}

/** Notifies listeners that a turn has written or evicted a variable. */
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
