import type { VariableStore, Visibility, Write } from "../store/variable-store.ts";
import { guardOf } from "../store/visibility.ts";
import type { ToolPolicy } from "./tool-policy.ts";

/** What the result of a call inherits from the variables that went into it. */
export class Labels {
  readonly #store: VariableStore;
  readonly #visibilities = new Set<Visibility>();
  readonly #sources = new Set<string>();
  #isTrusted = true;

  constructor(store: VariableStore) {
    this.#store = store;
  }

  /** Did a sealed or secret value go in? Then nothing may be told that its content decides. */
  get isGuarded(): boolean {
    return guardOf(this.#visibilities) !== "model";
  }

  /** As it is now: what the variable is later does not matter. */
  add(name: string): void {
    const info = this.#store.info(name);
    if (info === undefined) return;
    this.#visibilities.add(info.visibility);
    for (const source of info.sources) this.#sources.add(source);
    this.#isTrusted &&= info.trusted;
  }

  /** Of the result of a tool. */
  ofResult(
    tool: string,
    policy: ToolPolicy = {},
  ): Pick<Write, "visibility" | "sources" | "trusted"> {
    const own: Visibility = policy.sealed === true ? "sealed" : "model";
    const inherited = policy.declassifies === true ? [] : this.#visibilities;
    return {
      visibility: guardOf([own, ...inherited]),
      sources: [...new Set([`tool:${tool}`, ...this.#sources])],
      trusted: this.#isTrusted && (policy.trusted ?? true),
    };
  }
}
