import { useCallback, useEffect, useMemo, useState } from "react";
import type { AgentsDescription } from "../../src/edge/page-options.ts";
import { Door } from "./door/door.tsx";
import { enter, storedKey, storeKey } from "./session.ts";
import { applyColors } from "./shell/apply-colors.ts";
import { Workspace } from "./shell/workspace.tsx";

type Access = "asked" | "open" | "shut";

/** The door, where there is one and nobody has the key; behind it everything else. */
export function Page() {
  const [key, setKey] = useState(storedKey);
  const [access, setAccess] = useState<Access>("asked");
  const [described, setDescribed] = useState<AgentsDescription>();
  const [refused, setRefused] = useState<string>();
  const [reason, setReason] = useState("");
  const shut = useCallback(() => {
    setAccess("shut");
    setRefused(key);
  }, [key]);
  const entry = useMemo(() => enter(key, shut), [key, shut]);
  useEffect(() => {
    entry.client
      .agents()
      .then((known) => {
        storeKey(key);
        applyColors(known.page?.colors);
        setDescribed(known);
        setAccess("open");
      })
      // After a 401 the key is asked for. Other failures are shown inside, where they can be tried again.
      .catch(({ status, message }: { readonly status?: number; readonly message: string }) => {
        if (status === 401) setReason(message);
        else setAccess("open");
      });
  }, [entry, key]);
  if (access === "asked") return null;
  if (access === "shut")
    return <Door isWrong={key !== undefined && key === refused} reason={reason} enter={setKey} />;
  const leave = () => {
    storeKey(undefined);
    setKey(undefined);
  };
  const leaving = key === undefined ? undefined : leave;
  return <Workspace entry={entry} described={described} leave={leaving} />;
}
