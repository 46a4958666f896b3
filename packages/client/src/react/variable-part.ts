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

/** The part of a variable at one path, loaded once for all components that show it. */
export class VariablePart extends Loaded<VariableState> {
  readonly name: string;
  readonly #conversation: ClientConversation;
  readonly #path: string | undefined;
  #etag: string | undefined;

  /** `path`: undefined for the metadata alone. */
  constructor(
    conversation: ClientConversation,
    name: string,
    path: string | undefined,
    onUse: (isUsed: boolean) => void,
  ) {
    const loading = { value: undefined, info: undefined, status: "loading", error: undefined };
    super(loading as VariableState, onUse);
    this.name = name;
    this.#conversation = conversation;
    this.#path = path;
  }

  protected override async load(): Promise<void> {
    const before = this.read();
    // The old value stays while loading, with the metadata of its version.
    if (before.status !== "loading") this.set({ ...before, status: "loading" });
    try {
      this.set(await this.#loaded(before));
    } catch (thrown) {
      const error =
        thrown instanceof ClientError ? thrown : new ClientError("bad_answer", String(thrown));
      const isGone = error.status === 404 || error.status === 410;
      const shown = isGone ? { value: undefined, info: undefined } : this.read();
      if (isGone) this.#etag = undefined;
      this.set({ ...shown, status: isGone ? "missing" : "error", error });
    }
  }

  /** Reads metadata and value until both are of one version. */
  async #loaded(before: VariableState): Promise<VariableState> {
    const { variables } = this.#conversation;
    if (this.#path === undefined) {
      const info = await variables.info(this.name);
      return { value: undefined, info, status: "ready", error: undefined };
    }
    const part = this.#path === "" ? {} : { path: this.#path };
    const guard = this.#etag === undefined ? {} : { "if-none-match": this.#etag };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const info = await variables.info(this.name);
      const response = await variables.open(this.name, part, guard);
      const etag = response.headers.get("etag") ?? "";
      if (!isOf(etag, info)) {
        await response.body?.cancel();
        continue;
      }
      const value = response.status === 304 ? before.value : await valueIn(response);
      this.#etag = etag;
      return { value: value as Json, info, status: "ready", error: undefined };
    }
    throw new ClientError("unavailable", `$${this.name} keeps changing.`);
  }
}

/** True if the tag is that of a representation of the version: `"2-lw8x"` or `"2-lw8x.ndjson"`. */
function isOf(etag: string, { version, updatedAt }: VariableInfo): boolean {
  const state = `"${version}-${Date.parse(updatedAt).toString(36)}`;
  return etag === `${state}"` || etag.startsWith(`${state}.`);
}
