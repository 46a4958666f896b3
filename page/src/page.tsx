import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ClientError } from "../../packages/client/src/client.ts";
import type { PageOptions } from "../../src/edge/page-options.ts";
import { KeyForm } from "./auth/key-form.tsx";
import { newQueries } from "./queries.ts";
import { type Entry, enter, storedKey, storeKey } from "./session.ts";
import { agentsQuery, Workspace } from "./shell/workspace.tsx";

/** Asks for a key where the server requires one, then shows the workspace. */
export function Page() {
  const [queries] = useState(newQueries);
  const [key, setKey] = useState(storedKey);
  const [refused, setRefused] = useState<Entry>();
  const entry = useMemo(() => {
    const own: Entry = enter(key, () => setRefused(own));
    return own;
  }, [key]);
  const { data, error, isPending } = useQuery(agentsQuery(entry), queries);
  useEffect(() => {
    if (data === undefined) return;
    storeKey(key);
    applyColors(data.page?.colors);
  }, [key, data]);
  const change = (next: string | undefined) => {
    queries.clear();
    setKey(next);
  };
  const isRefused = refused === entry;
  if (isRefused || (refused !== undefined && isPending)) {
    const reason = error instanceof ClientError ? error.message : "";
    return <KeyForm isWrong={isRefused && key !== undefined} reason={reason} enter={change} />;
  }
  // Failures other than 401 are shown in the workspace, which can retry.
  if (isPending) return null;
  const leave = () => {
    storeKey(undefined);
    change(undefined);
  };
  return (
    <QueryClientProvider client={queries}>
      <Workspace entry={entry} leave={key === undefined ? undefined : leave} />
    </QueryClientProvider>
  );
}

/** Custom properties of `theme.css`. */
const PROPERTIES = {
  accent: "--accent",
  accentText: "--accent-text",
  background: "--bg",
  surface: "--surface",
  text: "--text",
} as const;

/** Sets the application's colours, and derives matching ones. */
function applyColors(colors: PageOptions["colors"] = {}): void {
  const { style } = document.documentElement;
  for (const name of Object.keys(PROPERTIES) as (keyof typeof PROPERTIES)[]) {
    const color = colors[name];
    if (color === undefined) continue;
    const text = typeof color === "string" ? color : `light-dark(${color.light}, ${color.dark})`;
    style.setProperty(PROPERTIES[name], text);
  }
  if (colors.accent !== undefined) {
    style.setProperty("--accent-soft", "color-mix(in oklab, var(--accent) 14%, var(--surface))");
  }
}
