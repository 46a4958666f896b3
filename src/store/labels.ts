import type { Variables } from "./variable-store.ts";
import type { Flag, VariableInfo, Visibility } from "./variable.ts";
import type { Json } from "../value/json.ts";
import type { About } from "./bytes/content.ts";

/** Who may see a value, and where it comes from. */
export type ValueLabels = Pick<VariableInfo, "visibility" | "sources" | "trusted" | "flags">;

const order: readonly Visibility[] = ["model", "sealed", "secret"];

/** The strictest: what is made of several values is guarded as the most guarded of them. */
export function guardOf(visibilities: Iterable<Visibility>): Visibility {
  let strictest = 0;
  for (const visibility of visibilities) strictest = Math.max(strictest, order.indexOf(visibility));
  return order[strictest] ?? "secret";
}

/** What may be said about a value that nobody may see: nothing that its content decides but its size. */
export function guarded(about: About, visibility: Visibility): About {
  return visibility === "secret" ? { ...about, shape: about.type, preview: "" } : about;
}

/** The labels of what is made of several values. */
export function joinedLabels(labels: readonly ValueLabels[]): ValueLabels {
  return {
    visibility: guardOf(labels.map(({ visibility }) => visibility)),
    sources: [...new Set(labels.flatMap(({ sources }) => sources))],
    trusted: labels.every(({ trusted }) => trusted),
    ...flagged(labels.flatMap(({ flags = [] }) => flags)),
  };
}

/** The flags, each once, as a property to spread; nothing if there are none. */
export function flagged(flags: readonly Flag[] = []): { readonly flags?: readonly Flag[] } {
  return flags.length === 0 ? {} : { flags: [...new Set(flags)] };
}

/** The `visibility` column: the visibility, then the flags, separated by spaces. */
export function visibilityText({
  visibility,
  flags = [],
}: {
  readonly visibility: Visibility;
  readonly flags?: readonly Flag[] | undefined;
}): string {
  return [visibility, ...flags].join(" ");
}

/** Reads what `visibilityText` wrote. */
export function visibilityIn(text: string): Pick<ValueLabels, "visibility" | "flags"> {
  const [visibility, ...flags] = text.split(" ");
  return { visibility: visibility as Visibility, ...flagged(flags as Flag[]) };
}

/** A variable that went into a call, as it was then. */
export interface Consumed extends ValueLabels {
  readonly name: string;
}

/** What an agent says about the results of one of its tools. */
export interface ResultPolicy {
  /** The model sees of its results only that they are there. */
  readonly sealed?: boolean;
  /** False for a tool whose results somebody else writes: mails, web pages. Default: true. */
  readonly trusted?: boolean;
  /** Its results may be shown although guarded values went in: it hands out none of them. */
  readonly declassifies?: boolean;
  /** Where its results come from, e.g. `mcp:<server>`. Default: `tool:<name>`. */
  readonly source?: string;
}

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

  /** True if a sealed or secret value went in: then nothing is shown that its content decides. */
  get isGuarded(): boolean {
    return this.#visibility !== "model";
  }

  /** True if all that went in is trusted, the model's own words included. */
  get isTrusted(): boolean {
    return this.#taint?.isTainted !== true && this.consumed.every(({ trusted }) => trusted);
  }

  /** True if a variable went in that is not trusted; the model's own words do not count. */
  get hasUntrusted(): boolean {
    return this.consumed.some(({ trusted }) => !trusted);
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

  /** Of the result of a tool. */
  ofResult(tool: string, policy: ResultPolicy = {}): ValueLabels {
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

/**
 * True once the prompt has shown the model untrusted data that it still holds. From then on the model's own
 * words count as untrusted too.
 */
export class Taint {
  #isTainted: boolean;
  /** No model reads what is shown: it stays as it is. */
  readonly #isFixed: boolean;

  constructor(isTainted = false, { isFixed = false } = {}) {
    this.#isTainted = isTainted;
    this.#isFixed = isFixed;
  }

  get isTainted(): boolean {
    return this.#isTainted;
  }

  add(): void {
    if (!this.#isFixed) this.#isTainted = true;
  }
}
