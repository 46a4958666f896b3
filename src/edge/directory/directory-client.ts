import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { pause } from "../../turn/model/model-failure.ts";
import type { QuotaService } from "../../turn/spend/lease.ts";
import type { SpendLimits } from "../../turn/spend/spend.ts";
import { withTimeLimit } from "../../value/deadline.ts";
import type { Bindings } from "../bindings.ts";
import { conversationIn, type ObjectContext } from "../conversation-name.ts";
import { objectIn } from "../placement.ts";
import { settingsOf } from "../settings.ts";
import type { DirectoryObject } from "./directory.ts";

/** A tenant's directory: the methods that are called over RPC. */
export type RemoteDirectory = {
  readonly [Method in "put" | "remove" | "forget" | "list" | "take" | "settle"]: (
    ...parameters: Parameters<DirectoryObject[Method]>
  ) => Promise<ReturnType<DirectoryObject[Method]>>;
};

export function hasDirectory(env: object): boolean {
  const { DIRECTORY }: Partial<Bindings> = env;
  return DIRECTORY !== undefined;
}

/** Throws `bad_configuration` if the tenant's spend is limited and no directory is bound. */
export function requireDirectory({ tenant }: SpendLimits, env: object): void {
  if (tenant === undefined || hasDirectory(env)) return;
  const message = "A tenant's spend is limited where DIRECTORY is bound; see wrangler.toml.";
  throw new ByrefError("bad_configuration", message);
}

/**
 * The tenant's directory, in the given jurisdiction or the configured one. Undefined without the binding:
 * conversations are then not listed, and everything else works.
 */
export function directoryOf(
  env: object,
  tenant: string,
  jurisdiction?: string,
): RemoteDirectory | undefined {
  const { DIRECTORY }: Partial<Bindings> = env;
  if (DIRECTORY === undefined) return undefined;
  // In its own namespace, so no conversation's name equals a directory's name.
  const name = JSON.stringify([tenant, "directory"]);
  const named = objectIn(DIRECTORY, name, { settings: settingsOf(env), jurisdiction });
  // The namespace is bound to DirectoryObject; see `conversation-of.ts`.
  return named as unknown as RemoteDirectory;
}

/**
 * Calls the directory of the conversation's tenant; returns undefined if there is none. Uses the
 * conversation's jurisdiction, even if the setting has changed since. Rejects after a time limit, because
 * calls between objects have none of their own.
 */
export async function callDirectory<Answer>(
  { env, state: { id } }: ObjectContext,
  call: (directory: RemoteDirectory) => Promise<Answer>,
): Promise<Answer | undefined> {
  const { tenant } = conversationIn(id.name) ?? {};
  // A new stub for each call: a stub whose object failed stays broken.
  const directory = tenant === undefined ? undefined : directoryOf(env, tenant, id.jurisdiction);
  if (directory === undefined) return undefined;
  return withTimeLimit(limits.directoryMs, () => call(directory));
}

/**
 * Leases on the tenant's spend limit, from the tenant's directory; undefined without a limit. While the
 * directory is unavailable, nothing can be spent: `spend_unavailable`.
 */
export function leasesOf(
  object: ObjectContext,
  { tenant: limits }: SpendLimits,
): QuotaService | undefined {
  if (limits === undefined) return undefined;
  return {
    limits,
    async take(claim) {
      const grant = await retry(TAKE_DELAYS_MS, () =>
        callDirectory(object, (directory) => directory.take(claim)),
      );
      if (grant !== undefined) return grant;
      const message = "What the tenant has spent cannot be had now; try again later.";
      throw new ByrefError("spend_unavailable", message);
    },
    settle(settled) {
      object.state.waitUntil(
        retry(SETTLE_DELAYS_MS, () =>
          callDirectory(object, (directory) => directory.settle(settled)),
        ),
      );
    },
  };
}

/** Returns undefined if each try has failed. Both calls are idempotent. */
async function retry<Answer>(
  delaysMs: readonly number[],
  call: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  for (const delayMs of delaysMs) {
    await pause(delayMs);
    try {
      return await call();
    } catch (error) {
      console.error(error);
    }
  }
  return undefined;
}

/** The pause before each try. */
const TAKE_DELAYS_MS = [0, 200, 1_000];
const SETTLE_DELAYS_MS = [0, 1_000, 10_000, 60_000];
