import { ByrefError, codeOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { UserScope, type UserValue } from "../store/user-variables.ts";
import type { UserWrite } from "../store/variable-store.ts";
import type { Identity } from "../tool/identity.ts";
import { requireName } from "../store/names.ts";
import { saveStaged, stageAll } from "../tool/tool-call.ts";
import { guardedWrite } from "../tool/variables/set-variable.ts";
import { withTimeLimit } from "../value/deadline.ts";
import { parsedJson } from "../value/json.ts";
import type { ConversationContext } from "./conversation-context.ts";
import { logFailure, placeIn } from "./log-failure.ts";
import { conversationNamed, type ObjectContext, userObjectName } from "./conversation-of.ts";

/** The values of who asks, in the object that only this tenant's turns of this principal name. */
export function userScopeOf({ env, state }: ObjectContext, asked: Identity): UserScope {
  if (asked.principal === undefined) return new UserScope();
  return new UserScope(async (write) => {
    const { jurisdiction } = state.id;
    const object = conversationNamed(env, await userObjectName(asked), { jurisdiction });
    return withTimeLimit(limits.replyMs, () => object.userValues(write)).catch((error: unknown) => {
      if (codeOf(error) !== "internal") throw error;
      logFailure(error, placeIn({ state }, "user"));
      throw new ByrefError("unavailable", "The values of the user are not available now.");
    });
  });
}

/** In a user's object: the values, after a write. What is guarded stays so. */
export async function userValuesIn(
  context: ConversationContext,
  write?: UserWrite,
): Promise<readonly UserValue[]> {
  if (write !== undefined) {
    const { json, ...about } = write;
    requireName(about.name);
    const { store } = context.wake();
    const written = { ...about, value: parsedJson(json), keepsVersion: true };
    const save = () => guardedWrite({ store, call: {} }, written, () => null);
    await saveStaged(store, () => stageAll(save()));
    await context.settle();
  }
  const { store } = context;
  const values = store.list({ last: limits.maxItems }).map(async (info) => {
    const value = info.type === "bytes" ? undefined : await store.read(info.name);
    return { info, ...(value !== undefined && { json: JSON.stringify(value) }) };
  });
  return Promise.all(values);
}
