import { flagged, joinedLabels, type ValueLabels } from "../store/value-labels.ts";
import type { Variables } from "../store/variable-store.ts";
import type { Visibility } from "../store/variable.ts";
import { guardOf } from "../store/visibility.ts";
import type { Json } from "../value/json.ts";
import type { Consumed } from "./policy.ts";
import type { Taint } from "./taint.ts";
import type { ToolPolicy } from "./tool-policy.ts";

/** What the result of a call inherits from the variables that went into it, and from who wrote the call. */
export class Labels {
  readonly #store: Variables;
  readonly #taint: Taint | undefined;
  readonly #consumed = new Map<string, Consumed>();
  #isComposed = false;

  /** `madeOf`: what went into the input before it was one. */
  constructor(store: Variables, taint?: Taint, madeOf?: Labels) {
    this.#store = store;
    this.#taint = taint;
    if (madeOf !== undefined) this.include(madeOf);
  }

  /** Each variable once. */
  get consumed(): readonly Consumed[] {
    return [...this.#consumed.values()];
  }

  /** Did a sealed or secret value go in? Then nothing may be told that its content decides. */
  get isGuarded(): boolean {
    return this.#visibility !== "model";
  }

  /** Is all that went in trusted, the model's own words included? */
  get isTrusted(): boolean {
    return this.#taint?.isTainted !== true && this.consumed.every(({ trusted }) => trusted);
  }

  get #visibility(): Visibility {
    return guardOf(this.consumed.map(({ visibility }) => visibility));
  }

  /** As it is now: what the variable is later does not matter. */
  add(name: string): void {
    // As listed, without a long input: this is asked for every reference.
    const [info] = this.#store.list({ names: [name] });
    if (info !== undefined) this.#note({ ...info, name });
  }

  /** Marks the result as composed: it has a URL that is made of values and of other text. */
  compose(): void {
    this.#isComposed = true;
  }

  /** All that the others know of. */
  include(others: Labels): void {
    this.#isComposed ||= others.#isComposed;
    for (const consumed of others.consumed) this.#note(consumed);
  }

  /**
   * Adds every variable that the input may refer to, if guarded values went in: the labels must not show how
   * far resolving got, or which alternative exists.
   */
  completeFrom(input: Json, storedName = (name: string) => name): void {
    if (!this.isGuarded) return;
    for (const [, name = ""] of JSON.stringify(input).matchAll(/[^\w\s"]\s*(\w+)/g)) {
      this.add(storedName(name));
    }
  }

  #note(consumed: Consumed): void {
    const { name } = consumed;
    const before = this.#consumed.get(name) ?? consumed;
    // Another version may have come in between: what is known of any of them counts.
    this.#consumed.set(name, { name, ...joinedLabels([before, consumed]) });
  }

  /** Has anything gone in that is not trusted, the model's own words aside? */
  get hasDoubted(): boolean {
    return this.consumed.some(({ trusted }) => !trusted);
  }

  /** Of the result of a tool. */
  ofResult(tool: string, policy: ToolPolicy = {}): ValueLabels {
    const own: Visibility = policy.sealed === true ? "sealed" : "model";
    const isOpened = policy.declassifies === true;
    const inherited = isOpened ? "model" : this.#visibility;
    const flags = this.consumed.flatMap((consumed) => consumed.flags ?? []);
    const isComposed = !isOpened && (this.#isComposed || flags.includes("composed"));
    const sources = this.consumed.flatMap((consumed) => consumed.sources);
    return {
      visibility: guardOf([own, inherited]),
      sources: [...new Set([policy.source ?? `tool:${tool}`, ...sources])],
      trusted: this.isTrusted && (policy.trusted ?? true),
      ...flagged([
        ...(isComposed ? ["composed" as const] : []),
        ...(inherited === "model" ? [] : ["derived" as const]),
      ]),
    };
  }
}
