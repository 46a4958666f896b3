type Listener = (variable: string) => void;

/** What the transports of this page read, by the conversation's id: a turn's stream is read once. */
const read = new Map<string, number>();
const listeners = new Map<string, Set<Listener>>();

/** True while a transport reads a stream of the conversation. */
export function isRead(conversation: string): boolean {
  return read.has(conversation);
}

/** Notes that a transport begins to read. Returns a function that ends it. */
export function beginReading(conversation: string): () => void {
  read.set(conversation, (read.get(conversation) ?? 0) + 1);
  let isOpen = true;
  return () => {
    const count = (read.get(conversation) ?? 0) - 1;
    if (isOpen && count > 0) read.set(conversation, count);
    else if (isOpen) read.delete(conversation);
    isOpen = false;
  };
}

/** Tells that a turn has written or evicted a variable. */
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
