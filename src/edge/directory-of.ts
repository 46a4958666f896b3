import { ByrefError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { DirectoryObject } from "./directory.ts";
import { objectIn } from "./placement.ts";
import { settingsOf } from "./settings.ts";

/** A directory as others see it: the same methods, each a call to another place. */
export type RemoteDirectory = {
  readonly [Method in "tell" | "remove" | "forget" | "list" | "take" | "settle"]: (
    ...parameters: Parameters<DirectoryObject[Method]>
  ) => Promise<ReturnType<DirectoryObject[Method]>>;
};

/** The tenant's directory. Without the binding there is none: nothing is listed, all else works. */
export function directoryOf(env: object, tenant: string): RemoteDirectory | undefined {
  const { DIRECTORY } = env as { readonly DIRECTORY?: DurableObjectNamespace };
  if (DIRECTORY === undefined) return undefined;
  // A namespace of its own, so that nothing that names a conversation names it.
  const name = JSON.stringify([tenant, "directory"]);
  const named = objectIn(DIRECTORY, name, { settings: settingsOf(env) });
  // The namespace is bound to DirectoryObject; see `conversation-of.ts`.
  return named as unknown as RemoteDirectory;
}

/** Rejects if it does not come in time: a call of another place has no end of its own. */
export function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const { directoryMs } = limits;
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const error = new ByrefError("internal", `The directory was silent for ${directoryMs} ms.`);
  const timer = setTimeout(reject, directoryMs, error);
  return Promise.race([answer, silence]).finally(() => clearTimeout(timer));
}
