import type { ConversationObject } from "../../src/edge/conversation.ts";
import { NodeObject } from "./node-object.ts";

/** The part of `cloudflare:test` that `own-runtime.ts` uses, for tests that run it in plain Node. */
export const createExecutionContext = (): object => ({
  waitUntil: () => undefined,
  passThroughOnException: () => undefined,
});

type Work<Result> = (object: ConversationObject, state: DurableObjectState) => Promise<Result>;

/** Runs the work with an empty object, whose methods the work assigns. */
export async function runInDurableObject<Result>(
  name: string,
  work: Work<Result>,
): Promise<Result> {
  let given: DurableObjectState | undefined;
  const node = new NodeObject(name, (state) => {
    given = state;
    return {} as ConversationObject;
  });
  const object = await node.object();
  if (given === undefined) throw new Error("The object has no state.");
  return work(object, given);
}
