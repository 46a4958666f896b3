import { useEffect, useState } from "react";
import type { Api, Listed } from "./api.ts";

const KEY = "byref-pins";
const MAX_PINS = 50;

export interface Pins {
  readonly has: (id: string) => boolean;
  readonly toggle: (id: string) => void;
  /** Pinned conversations, newest first, including those that are not in the loaded part of the list. */
  readonly among: (listed: readonly Listed[]) => readonly Listed[];
}

/** Pinned conversations, stored in this browser, because the server does not store pins. */
export function usePins(api: Api, listed: readonly Listed[], isLoaded: boolean): Pins {
  const [ids, setIds] = useState<readonly string[]>(read);
  const [others, setOthers] = useState<ReadonlyMap<string, Listed>>(new Map());
  const known = new Set(listed.map(({ id }) => id));
  const missing = isLoaded ? ids.filter((id) => !known.has(id)).join(" ") : "";
  useEffect(() => {
    let isCurrent = true;
    const load = async (id: string) => {
      const one = await api.about(id);
      if (isCurrent) setOthers((all) => new Map(all).set(id, one));
    };
    for (const id of missing.split(" ")) {
      // Fails for a conversation that was deleted, or that belongs to another key.
      if (id !== "") load(id).catch((error: unknown) => console.debug(error));
    }
    return () => {
      isCurrent = false;
    };
  }, [api, missing]);
  return {
    has: (id) => ids.includes(id),
    toggle: (id) => {
      const next = ids.includes(id)
        ? ids.filter((one) => one !== id)
        : [id, ...ids].slice(0, MAX_PINS);
      localStorage.setItem(KEY, JSON.stringify(next));
      setIds(next);
    },
    among: (all) => {
      const byId = new Map(all.map((one) => [one.id, one]));
      const pinned = ids.flatMap((id) => byId.get(id) ?? others.get(id) ?? []);
      return pinned.toSorted((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
    },
  };
}

function read(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored.filter((id) => typeof id === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(id));
  } catch {
    return [];
  }
}
