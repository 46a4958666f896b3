import { useCallback, useEffect, useState } from "react";

const KEY = "byref-new";

/** Ids, created in this tab, of conversations without messages. A reload opens them again. */
const unheardOf = new Set(sessionStorage.getItem(KEY)?.split(" "));

function store(): void {
  sessionStorage.setItem(KEY, [...unheardOf].join(" "));
}

/** The conversation that the URL names (`#/c/<id>`), or a new one. */
export function useRoute(): readonly [id: string, go: (id: string) => void] {
  const [id, setId] = useState(() => idIn(location.hash) ?? newId());
  useEffect(() => {
    const follow = () => setId(idIn(location.hash) ?? newId());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const go = useCallback((next: string) => {
    location.hash = addressOf(next);
  }, []);
  return [id, go];
}

/** Creates the id of a new conversation. */
export function newId(): string {
  // `randomUUID` is missing on pages without TLS.
  const id = crypto.getRandomValues(new Uint32Array(4)).join("-");
  unheardOf.add(id);
  store();
  return id;
}

/** Call when the server has stored the conversation. */
export function hear(id: string): void {
  unheardOf.delete(id);
  store();
}

/** True if the server cannot know the conversation, so that no request is needed. */
export function isUnheardOf(id: string): boolean {
  return unheardOf.has(id);
}

export function addressOf(id: string): string {
  return `#/c/${encodeURIComponent(id)}`;
}

/** Call when the server has stored the conversation. Puts its id into the URL, so that a reload opens it again. */
export function begin(id: string): void {
  hear(id);
  if (idIn(location.hash) !== id) history.replaceState(null, "", addressOf(id));
}

function idIn(hash: string): string | undefined {
  const [, id] = /^#\/c\/([A-Za-z0-9._-]{1,128})$/.exec(hash) ?? [];
  return id;
}
