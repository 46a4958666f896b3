import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ClientError } from "../../packages/client/src/client.ts";
import type { PageOptions } from "../../src/edge/page-options.ts";
import { newQueries } from "./queries.ts";
import { enter, type Entry, storedKey, storeKey } from "./session.ts";
import { agentsQuery, Workspace } from "./shell/workspace.tsx";
import { Button, Form } from "./controls.tsx";
import "./auth/key-form.css";

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

/** Sets the application's colours, which are custom properties of `theme.css`, and derives a matching one. */
function applyColors(colors: PageOptions["colors"] = {}): void {
  const { style } = document.documentElement;
  for (const [name, color] of Object.entries(colors)) {
    const property = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const text = typeof color === "string" ? color : `light-dark(${color.light}, ${color.dark})`;
    style.setProperty(`--${property}`, text);
  }
  if (colors.accent !== undefined) {
    style.setProperty("--accent-soft", "color-mix(in oklab, var(--accent) 14%, var(--surface))");
  }
}

interface KeyFormProps {
  /** True after the server refused a key. */
  readonly isWrong: boolean;
  /** The server's message about the refusal. */
  readonly reason: string;
  readonly enter: (key: string) => void;
}

/** Asks for the key of the server, or shows which setting it lacks. */
function KeyForm({ isWrong, reason, enter }: KeyFormProps) {
  // No key exists yet: the server's settings have to change first.
  const isMissing = reason.startsWith("AUTH");
  return (
    <main className="key">
      <Form className="key-form" onSubmit={(given) => enter(String(given.get("key")).trim())}>
        <h1 className="key-title">{isMissing ? "This server needs a setting" : "Byref"}</h1>
        <p className="key-text" role={isMissing ? "alert" : undefined}>
          {isMissing
            ? reason
            : "This server requires a key. It is sent only to this server and forgotten when you close the tab."}
        </p>
        {!isMissing && (
          <>
            <label htmlFor="key">Key</label>
            <input
              id="key"
              name="key"
              className="field"
              type="password"
              autoComplete="current-password"
              required
              pattern=".*\S.*"
              aria-invalid={isWrong}
              aria-describedby={isWrong ? "key-wrong" : undefined}
            />
            {isWrong && (
              <p id="key-wrong" className="key-wrong" role="alert">
                This key is not valid.
              </p>
            )}
            <Button isMain type="submit">
              Sign in
            </Button>
          </>
        )}
      </Form>
    </main>
  );
}
