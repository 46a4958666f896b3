import {
  type RefCallback,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { isLost, jsonIn } from "./words.ts";

/** Returns the current time, updated every `everyMs` milliseconds. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Returns a function that stays the same and calls the newest one. */
export function useStable<const Work extends (...args: never[]) => unknown>(work: Work): Work {
  const newest = useRef(work);
  newest.current = work;
  return useCallback(((...args) => newest.current(...args)) as Work, []);
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

/** Reads a list of texts that this browser has stored; the server does not store it. Empty if it is no such list. */
export function useStored(key: string) {
  const [texts, setTexts] = useState<readonly string[]>(() => {
    const stored = jsonIn(localStorage.getItem(key) ?? undefined);
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  });
  const store = (next: readonly string[]) => {
    localStorage.setItem(key, JSON.stringify(next));
    setTexts(next);
  };
  return [texts, store] as const;
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
