import { ByrefError } from "../errors.ts";
import { deepFreeze, type Json, parsedJson } from "../value/json.ts";
import { readPath } from "../value/path.ts";
import type { Glance, VariableInfo } from "./variable.ts";
import type { UserVariables, UserWrite } from "./variable-store.ts";
import type { VariableStore } from "./variables.ts";

/** The name under which references read the values of who asks: `$user.address`. */
export const USER = "user";

/** A value of a user, as their object sends it. */
export interface UserValue {
  readonly info: VariableInfo;
  /** The value as JSON. Absent for bytes. */
  readonly json?: string;
}

/** Returns a user's values from their object, after a write if there is one. */
type CallUser = (write?: UserWrite) => Promise<readonly UserValue[]>;

/** The values of who asks, in one attempt at a turn: one call at the first use, and one for each write. */
export class UserScope implements UserVariables {
  readonly #call: CallUser | undefined;
  #loading: Promise<void> | undefined;
  #values: ReadonlyMap<string, UserValue> = new Map();
  readonly #parsed = new Map<string, Json>();

  /** Without `call`, nobody is known to ask: every use is refused. */
  constructor(call?: CallUser) {
    this.#call = call;
  }

  load(): Promise<void> {
    return this.#loading ?? this.#replace();
  }

  async write(write: UserWrite): Promise<VariableInfo> {
    await this.#replace(write);
    const info = this.info(nameInScope(write.name));
    if (info !== undefined) return info;
    throw new ByrefError("conflict", `${write.name} was deleted meanwhile.`);
  }

  list(): readonly VariableInfo[] {
    return [...this.#values.keys()].flatMap((name) => this.info(name) ?? []);
  }

  info(name: string): VariableInfo | undefined {
    const { info } = this.#values.get(name) ?? {};
    return info && { ...info, name, readOnly: true };
  }

  read(name: string): Json | undefined {
    const { json } = this.#values.get(name) ?? {};
    if (json === undefined) return undefined;
    const value = this.#parsed.get(name) ?? deepFreeze(parsedJson(json));
    this.#parsed.set(name, value);
    return value;
  }

  /** One call after the other. Later uses wait for this one; if it fails, the next loads the values again. */
  #replace(write?: UserWrite): Promise<void> {
    const earlier = this.#loading;
    const replacing = async () => {
      await earlier?.catch(() => undefined);
      if (this.#call === undefined) throw nobodyAsks();
      const values = await this.#call(write);
      this.#parsed.clear();
      this.#values = new Map(values.map((value) => [nameInScope(value.info.name), value]));
    };
    const replaced = replacing();
    this.#loading = replaced;
    replaced.catch(() => {
      if (this.#loading === replaced) this.#loading = undefined;
    });
    return replaced;
  }
}

/** No variable of a conversation has a full stop in its name. */
export function nameInScope(name: string): string {
  return `${USER}.${name}`;
}

/** There is no store that all who are unknown would share. */
export function nobodyAsks(): ByrefError {
  const message =
    "$user needs to know who asks: an authenticator that returns a principal, such as AUTH=jwt.";
  return new ByrefError("bad_request", message);
}

/**
 * Returns the store with the values of who asks as variables that can be read only, named `user.address`. They are in
 * no list, and `user` is no other variable's name. Without `access`: the store without them.
 */
export function withUser(
  store: VariableStore,
  scope = new UserScope(),
  access?: "read" | "write",
): VariableStore {
  const conversation = store.user?.conversation ?? store;
  if (access === undefined) return conversation;
  const own: Partial<VariableStore> = {
    user: { scope, conversation, isWritable: access === "write" },
    glance: (name) => (name === USER ? WHOLE : (scope.info(name) ?? conversation.glance(name))),
    info: (name) => scope.info(name) ?? conversation.info(name),
    list: (options = {}) => {
      const infos = options.names?.flatMap((name) => scope.info(name) ?? []) ?? [];
      return [...conversation.list(options), ...infos];
    },
    read: async (name) => {
      const value = scope.read(name);
      return value === undefined ? conversation.read(name) : value;
    },
    readPath: async (name, path, work) => {
      const value = scope.read(name);
      return value === undefined
        ? conversation.readPath(name, path, work)
        : readPath(value, path, work);
    },
    couldBegin: (prefix) => USER.startsWith(prefix) || conversation.couldBegin(prefix),
  };
  return new Proxy(conversation, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key) as unknown;
      const value: unknown = Reflect.get(target, key);
      // The store's methods use its private fields.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** All of `$user` is nothing that can be read or written. */
const WHOLE: Glance = {
  version: 1,
  type: "object",
  bytes: 0,
  chars: 0,
  visibility: "secret",
  readOnly: true,
};
