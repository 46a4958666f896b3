import { ClientError } from "../client/client-error.ts";
import type { ClientConversation } from "../client/conversation.ts";
import { valueIn } from "../client/variables.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";
import { Loaded } from "./shared.ts";

/** A variable, or a part of its value, as a component shows it. `value` is always of the version in `info`. */
export interface VariableState<Value = Json | Uint8Array> {
  readonly value: Value | undefined;
  /** The metadata that belongs to the value. */
  readonly info: VariableInfo | undefined;
  /**
   * `loading`: the value, or a newer one, is on its way; `missing`: there is no such variable (any more), or no
   * such part.
   */
  readonly status: "loading" | "ready" | "missing" | "error";
  readonly error: ClientError | undefined;
}

/** Tries to read a value and its metadata while others keep writing it. */
const MAX_TRIES = 5;

export const LOADING: VariableState = {
  value: undefined,
  info: undefined,
  status: "loading",
  error: undefined,
};

/**
 * The part of a variable at one path, loaded once for all components that show it. `path`: undefined for the metadata
 * alone.
 */
export function variablePart(
  { variables }: Pick<ClientConversation, "variables">,
  name: string,
  path: string | undefined,
  onUse: (isUsed: boolean) => void,
): Loaded<VariableState> {
  let etag: string | undefined;

  /** Reads metadata and value until both are of one version. */
  async function read(before: VariableState): Promise<VariableState> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const info = await variables.info(name);
      const ready = { value: undefined, info, status: "ready", error: undefined } as const;
      if (path === undefined) return ready;
      const guard = etag === undefined ? {} : { "if-none-match": etag };
      const response = await variables.open(name, path === "" ? {} : { path }, guard);
      const given = response.headers.get("etag") ?? "";
      if (!isOf(given, info)) {
        await response.body?.cancel();
        continue;
      }
      const value = response.status === 304 ? before.value : await valueIn(response);
      etag = given;
      return { ...ready, value: value as Json };
    }
    throw new ClientError("unavailable", `$${name} keeps changing.`);
  }

  const part = new Loaded<VariableState>(LOADING, onUse, async (before) => {
    // The old value stays while loading, with the metadata of its version.
    if (before.status !== "loading") part.set({ ...before, status: "loading" });
    try {
      return await read(before);
    } catch (thrown) {
      const error =
        thrown instanceof ClientError ? thrown : new ClientError("bad_answer", String(thrown));
      if (error.status !== 404 && error.status !== 410)
        return { ...before, status: "error", error };
      etag = undefined;
      return { ...LOADING, status: "missing", error };
    }
  });
  return part;
}

/** True if the tag is that of a representation of the version: `"2-lw8x"` or `"2-lw8x.ndjson"`. */
function isOf(etag: string, { version, updatedAt }: VariableInfo): boolean {
  const state = `"${version}-${Date.parse(updatedAt).toString(36)}`;
  return etag === `${state}"` || etag.startsWith(`${state}.`);
}
