import { runInDurableObject } from "cloudflare:test";
import { ConversationObject } from "../../../../src/edge/conversation.ts";

type Construct = (state: DurableObjectState) => ConversationObject;

/** The conversations of applications that tests started, by the ids of their objects. */
const owned = new Map<string, Construct>();

/**
 * Takes the place of `ConversationObject` as the base of the deployed class, so that an object that belongs to
 * a test's application is the application's from its first instance on, and again when an alarm or a request
 * wakes it after a crash.
 */
class OwnedOrDeployed extends ConversationObject {
  constructor(...deployed: ConstructorParameters<typeof ConversationObject>) {
    const construct = owned.get(String(deployed[0].id));
    if (construct !== undefined) return construct(deployed[0]);
    super(...deployed);
  }
}

/** Changes the class that is deployed as `CONVERSATIONS`. Throws if it is none of `createRuntime`. */
async function changeClassOf(namespace: DurableObjectNamespace): Promise<void> {
  // An object that belongs to no conversation; nothing is stored in it.
  const unused = namespace.get(namespace.newUniqueId());
  const deployed = await runInDurableObject(unused, (object) => object.constructor);
  for (let made: unknown = deployed; typeof made === "function"; made = baseOf(made)) {
    const base = baseOf(made);
    if (base === OwnedOrDeployed) return;
    if (base === ConversationObject) return void Object.setPrototypeOf(made, OwnedOrDeployed);
  }
  throw new Error(
    `CONVERSATIONS is bound to ${deployed.name}, which is not a class of createRuntime: export class ${deployed.name} extends runtime.Conversation {}.`,
  );
}

function baseOf(made: object): unknown {
  return Object.getPrototypeOf(made);
}

/** `construct` creates a conversation of the application as it is now. */
export async function ownObjects(bound: DurableObjectNamespace, construct: Construct) {
  await changeClassOf(bound);
  const gets = new Map<string, () => DurableObjectStub<ConversationObject>>();
  return {
    /** Makes an object of the deployed namespace the application's. */
    own(id: DurableObjectId, deployed: Pick<DurableObjectNamespace, "get">): void {
      owned.set(String(id), construct);
      gets.set(String(id), () => deployed.get(id) as DurableObjectStub<ConversationObject>);
    },
    /** Aborts all objects, as a crash does, then wakes them. */
    async crash(): Promise<void> {
      await inEach(({ state }) => state.abort(RESTARTED));
      await Promise.all(Array.from(gets.values(), (get) => get().status()));
    },
    /** Stops running turns and deletes the conversations. */
    async delete(): Promise<void> {
      await inEach(({ conversation }) =>
        conversation.status() === undefined
          ? undefined
          : conversation.parts.context.deletion.start(),
      );
      for (const id of gets.keys()) owned.delete(id);
      gets.clear();
    },
  };

  async function inEach(work: (inside: Inside) => void | Promise<void>): Promise<void> {
    const done = Array.from(gets.values(), async (get) => {
      try {
        await runInDurableObject(get(), (conversation: ConversationObject, state) =>
          work({ conversation, state }),
        );
      } catch (error) {
        if (!String(error).includes(RESTARTED)) throw error;
      }
    });
    await Promise.all(done);
  }
}

interface Inside {
  readonly conversation: ConversationObject;
  readonly state: DurableObjectState;
}

const RESTARTED = "The test restarted the runtime.";
