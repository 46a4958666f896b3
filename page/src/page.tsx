import { useCallback, useEffect, useMemo, useState } from "react";
import type { AgentsDescription } from "../../src/edge/page-options.ts";
import { KeyForm } from "./auth/key-form.tsx";
import { enter, storedKey, storeKey } from "./session.ts";
import { applyColors } from "./shell/apply-colors.ts";
import { Workspace } from "./shell/workspace.tsx";

type Access = "checking" | "granted" | "refused";

/** Asks for a key where the server requires one, then shows the workspace. */
export function Page() {
  const [key, setKey] = useState(storedKey);
  const [access, setAccess] = useState<Access>("checking");
  const [described, setDescribed] = useState<AgentsDescription>();
  const [refused, setRefused] = useState<string>();
  const [reason, setReason] = useState("");
  const refuse = useCallback(() => {
    setAccess("refused");
    setRefused(key);
  }, [key]);
  const entry = useMemo(() => enter(key, refuse), [key, refuse]);
  useEffect(() => {
    entry.client
      .agents()
      .then((known) => {
        storeKey(key);
        applyColors(known.page?.colors);
        setDescribed(known);
        setAccess("granted");
      })
      // After a 401 the key is asked for. Other failures are shown inside, where they can be tried again.
      .catch(({ status, message }: { readonly status?: number; readonly message: string }) => {
        if (status === 401) setReason(message);
        else setAccess("granted");
      });
  }, [entry, key]);
  if (access === "checking") return null;
  if (access === "refused")
    return (
      <KeyForm isWrong={key !== undefined && key === refused} reason={reason} enter={setKey} />
    );
  const leave = () => {
    storeKey(undefined);
    setKey(undefined);
  };
  const leaving = key === undefined ? undefined : leave;
  return <Workspace entry={entry} described={described} leave={leaving} />;
}
