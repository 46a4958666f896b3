import { useEffect, useState, useSyncExternalStore } from "react";
import type { Events } from "../../../packages/client/src/react.ts";
import "./connection-note.css";

/** Delay before the note appears, so that short interruptions are not shown. */
const SHOWN_AFTER_MS = 1_000;

/** Notes that the page may be out of date because the browser is offline or the server unreachable. */
export function ConnectionNote({ events, isLive }: Events) {
  const isOffline = useSyncExternalStore(subscribe, () => !navigator.onLine);
  // A new conversation has no events yet.
  const isLost = useLasting(events.length > 0 && !isLive);
  const name = isOffline ? "You are offline." : "The connection to the server is lost.";
  return (
    <p className="connection-note" role="status">
      {(isOffline || isLost) && `${name} What has changed is shown when it is back.`}
    </p>
  );
}

/** True once the condition has held for `SHOWN_AFTER_MS`. */
function useLasting(isTrue: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    setLasts(false);
    if (!isTrue) return undefined;
    const timer = setTimeout(() => setLasts(true), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isTrue]);
  return lasts;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}
