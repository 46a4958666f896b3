import { type RefCallback, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { isLost } from "./words.ts";

/** Returns the current time, updated every `everyMs` milliseconds. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Runs actions. Returns the error of the last one, until the network is back, and what forgets it; whether one runs. */
export function useAttempt() {
  const [problem, setProblem] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const attempt = useCallback(async (work: () => Promise<unknown>) => {
    setProblem(undefined);
    setBusy(true);
    await work().catch(setProblem);
    setBusy(false);
  }, []);
  const forget = () => setProblem(undefined);
  useEffect(() => {
    const back = () => setProblem((last: unknown) => (isLost(last) ? undefined : last));
    window.addEventListener("online", back);
    return () => window.removeEventListener("online", back);
  }, []);
  return [problem, attempt, forget, isBusy] as const;
}

/** True while the media query matches. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const list = matchMedia(query);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}

/** Reads what this browser has stored; the server does not store it. Returns `parse(undefined)` if it is not JSON. */
export function useStored<Value>(key: string, parse: (stored: unknown) => Value) {
  const [value, setValue] = useState(() => {
    try {
      return parse(JSON.parse(localStorage.getItem(key) ?? "null"));
    } catch {
      return parse(undefined);
    }
  });
  const store = (next: Value) => {
    localStorage.setItem(key, JSON.stringify(next));
    setValue(next);
  };
  return [value, store] as const;
}

/** Returns an element's current width in pixels, 0 before it is mounted. */
export function useWidth(): readonly [RefCallback<HTMLElement>, number] {
  const [width, setWidth] = useState(0);
  const watch = useCallback((element: HTMLElement | null) => {
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [watch, width];
}
