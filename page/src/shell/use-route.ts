import { useCallback, useEffect, useState } from "react";

/** Ids made here, of conversations in which nothing has been said. */
const unheardOf = new Set<string>();

/** The conversation that the address names (`#/c/<id>`), or a new one. */
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

/** The id of a conversation that nobody has begun. */
export function newId(): string {
  // Only pages with TLS, or of this machine, have `randomUUID`.
  const id = "randomUUID" in crypto ? crypto.randomUUID() : randomId();
  unheardOf.add(id);
  return id;
}

/** The server has it now. */
export function hear(id: string): void {
  unheardOf.delete(id);
}

/** Then there is nothing to ask the server for. */
export function isUnheardOf(id: string): boolean {
  return unheardOf.has(id);
}

export function addressOf(id: string): string {
  return `#/c/${encodeURIComponent(id)}`;
}

/** The server knows it now: it gets an address, under which a reload finds it. */
export function begin(id: string): void {
  hear(id);
  if (idIn(location.hash) !== id) history.replaceState(null, "", addressOf(id));
}

function idIn(hash: string): string | undefined {
  const [, id] = /^#\/c\/([A-Za-z0-9._-]{1,128})$/.exec(hash) ?? [];
  return id;
}

function randomId(): string {
  const parts = (crypto as Crypto).getRandomValues(new Uint32Array(4));
  return Array.from(parts, (part) => part.toString(16).padStart(8, "0")).join("-");
}
