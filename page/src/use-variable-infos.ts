import { useEffect, useState } from "react";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Session } from "./session.ts";

const READS_AFTER_MS = 120;
/** What an answer or a call may refer to; those that are older are found by name when they are opened. */
const NEWEST = 500;

/** The conversation's variables by name; read again when `revision` changes. */
export function useVariableInfos(
  { client, conversation }: Session,
  revision: number,
  exists: boolean,
): ReadonlyMap<string, VariableInfo> {
  const [infos, setInfos] = useState<ReadonlyMap<string, VariableInfo>>(new Map());
  useEffect(() => {
    if (!exists) return undefined;
    let isCurrent = true;
    const read = async () => {
      const { variables } = await client
        .conversation(conversation)
        .variables.list({ last: NEWEST });
      if (isCurrent) setInfos(new Map(variables.map((info) => [info.name, info])));
    };
    const timer = setTimeout(() => {
      read().catch((error: unknown) => console.warn(error));
    }, READS_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [client, conversation, revision, exists]);
  return infos;
}
