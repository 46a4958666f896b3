import * as limits from "../../limits.ts";
import { unlessAborted } from "../../turn/unless-aborted.ts";
import type { Bindings } from "../bindings.ts";
import { conversationIn, type ObjectContext } from "../conversation-name.ts";
import type { DirectoryObject } from "./directory.ts";
import { objectIn } from "../placement.ts";
import { settingsOf } from "../settings.ts";

/** A directory as others see it: the same methods, each a call to another place. */
export type RemoteDirectory = {
  readonly [Method in "tell" | "remove" | "forget" | "list" | "take" | "settle"]: (
    ...parameters: Parameters<DirectoryObject[Method]>
  ) => Promise<ReturnType<DirectoryObject[Method]>>;
};

/** Is there anybody to be told? */
export function hasDirectory(env: object): boolean {
  const { DIRECTORY }: Partial<Bindings> = env;
  return DIRECTORY !== undefined;
}

/**
 * The tenant's directory, in this jurisdiction; by default in the one that is set. Without the binding there
 * is none: nothing is listed, all else works.
 */
export function directoryOf(
  env: object,
  tenant: string,
  jurisdiction?: string,
): RemoteDirectory | undefined {
  const { DIRECTORY }: Partial<Bindings> = env;
  if (DIRECTORY === undefined) return undefined;
  // A namespace of its own, so that nothing that names a conversation names it.
  const name = JSON.stringify([tenant, "directory"]);
  const named = objectIn(DIRECTORY, name, { settings: settingsOf(env), jurisdiction });
  // The namespace is bound to DirectoryObject; see `conversation-of.ts`.
  return named as unknown as RemoteDirectory;
}

/**
 * What the directory of the conversation's tenant answers; undefined if there is none. Nothing leaves the
 * jurisdiction in which the conversation is, were it not the one that is set any more. Rejects if the answer
 * does not come in time, too: a call to another place has no end of its own.
 */
export async function askDirectory<Answer>(
  { env, state: { id } }: ObjectContext,
  call: (directory: RemoteDirectory) => Promise<Answer>,
): Promise<Answer | undefined> {
  const { tenant } = conversationIn(id.name) ?? {};
  // A stub of its own: one whose object broke stays broken.
  const directory = tenant === undefined ? undefined : directoryOf(env, tenant, id.jurisdiction);
  if (directory === undefined) return undefined;
  const silence = new AbortController();
  const giveUp = () => silence.abort(new Error("The directory is silent."));
  const timer = setTimeout(giveUp, limits.directoryMs);
  return unlessAborted(call(directory), silence.signal).finally(() => clearTimeout(timer));
}
