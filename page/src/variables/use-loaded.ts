import { useCallback, useEffect, useRef, useState } from "react";

export interface Loaded<Value> {
  /** The last that came; stays while the next is asked for. */
  readonly value?: Value;
  /** Why the last one did not come. */
  readonly error?: unknown;
  readonly reload: () => void;
  /** With what has come another way. */
  readonly replace: (value: Value) => void;
}

/** Loads at once, and again, but not more often than this, when something has changed. */
const MIN_PAUSE_MS = 300;

/** What `load` gives now, and again with each `revision`. Another thing needs another component key. */
export function useLoaded<Value>(load: () => Promise<Value>, revision: unknown): Loaded<Value> {
  const [state, setState] = useState<Pick<Loaded<Value>, "value" | "error">>({});
  const [asked, setAsked] = useState(0);
  const times = useRef({ begun: 0, sequence: 0, taken: 0 });
  const loadNow = useRef(load);
  useEffect(() => {
    loadNow.current = load;
  });
  useEffect(() => {
    const all = times.current;
    const start = async () => {
      all.begun = Date.now();
      const sequence = ++all.sequence;
      const take = (next: (last: typeof state) => typeof state) => {
        // An answer that was overtaken is old.
        if (sequence < all.taken) return;
        all.taken = sequence;
        setState(next);
      };
      try {
        const value = await loadNow.current();
        take(() => ({ value }));
      } catch (error) {
        take((last) => ({ ...last, error }));
      }
    };
    const timer = setTimeout(
      () => void start(),
      Math.max(0, all.begun + MIN_PAUSE_MS - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [revision, asked]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const replace = useCallback((value: Value) => {
    times.current.taken = ++times.current.sequence;
    setState({ value });
  }, []);
  return { ...state, reload, replace };
}
