import type { Variables } from "./variable-store.ts";
import * as limits from "../limits.ts";
import type { Flag, Sources, VariableInfo, Visibility } from "./variable.ts";
import type { About } from "./bytes/content.ts";

/** A value's visibility and provenance. */
export type ValueLabels = Pick<
  VariableInfo,
  "visibility" | "sources" | "trusted" | "flags" | "madeOf"
>;

const order: readonly Visibility[] = ["model", "sealed", "secret"];

/** Returns the strictest visibility. A value made of several others is as restricted as the most restricted of them. */
export function strictestVisibility(visibilities: Iterable<Visibility>): Visibility {
  let strictest = 0;
  for (const visibility of visibilities) strictest = Math.max(strictest, order.indexOf(visibility));
  return order[strictest] ?? "secret";
}

/** Removes from a secret value's metadata everything that its content determines, except its type and sizes. */
export function redacted(about: About, visibility: Visibility): About {
  return visibility === "secret" ? { ...about, shape: about.type, preview: "" } : about;
}

/** Returns the labels of a value made of several others. */
export function joinedLabels(labels: readonly ValueLabels[]): ValueLabels {
  return {
    visibility: strictestVisibility(labels.map(({ visibility }) => visibility)),
    sources: [...new Set(labels.flatMap(({ sources }) => sources))],
    trusted: labels.every(({ trusted }) => trusted),
    ...flagged(labels.flatMap(({ flags = [] }) => flags)),
    ...madeOfAll(labels.map(({ madeOf }) => madeOf)),
  };
}

/** Returns what a value is made of as a property to spread: of each variable the oldest version that was read. */
export function madeOfAll(all: readonly (Sources | undefined)[]): Pick<ValueLabels, "madeOf"> {
  const oldest = new Map<string, number>();
  for (const [name, version] of all.flatMap((sources) => Object.entries(sources ?? {})))
    oldest.set(name, Math.min(version, oldest.get(name) ?? version));
  if (oldest.size === 0) return {};
  return { madeOf: Object.fromEntries([...oldest].slice(0, limits.maxShownItems)) };
}

/** What is made of a variable is made of its version; of one of a run, which ends, of what that is made of. */
function madeOfIt({ name, version, scope, readOnly, madeOf = {} }: VariableInfo) {
  if (scope === "run") return { madeOf };
  // Each message has another `input`, and a longer history.
  return { madeOf: name === "input" || readOnly === true ? {} : { [name]: version } };
}

/** Returns the distinct flags as a property to spread; an empty object if there are none. */
export function flagged(flags: readonly Flag[] = []): { readonly flags?: readonly Flag[] } {
  return flags.length === 0 ? {} : { flags: [...new Set(flags)] };
}

/** The `visibility` column: the visibility, then the flags, separated by spaces. */
export function visibilityText({ visibility, flags = [] }: VisibilityColumn): string {
  return [visibility, ...flags].join(" ");
}

interface VisibilityColumn extends Pick<ValueLabels, "visibility"> {
  readonly flags?: readonly Flag[] | undefined;
}

/** Parses the text of `visibilityText`. */
export function visibilityIn(text: string): Pick<ValueLabels, "visibility" | "flags"> {
  const [visibility, ...flags] = text.split(" ");
  return { visibility: visibility as Visibility, ...flagged(flags as Flag[]) };
}

/** A variable that a call used, with its labels at that time. */
export interface Consumed extends ValueLabels {
  readonly name: string;
}

/** An agent's policy for the results of one of its tools. */
export interface ResultPolicy {
  /** The model sees that results exist, but not their content. */
  readonly sealed?: boolean;
  /** False for a tool whose results other people write, such as mails or web pages. Default: true. */
  readonly trusted?: boolean;
  /** Results may be shown although guarded inputs were used, because the tool reveals none of them. */
  readonly declassifies?: boolean;
  /** The source of its results, for example `mcp:<server>`. Default: `tool:<name>`. */
  readonly source?: string;
}

/** Collects the labels that a call's result inherits from the variables it used and from the author of the call. */
export class Labels {
  readonly #store: Variables;
  readonly #taint: Taint | undefined;
  readonly #consumed = new Map<string, Consumed>();
  #isComposed = false;

  /** `madeOf`: labels of the values that the input was built from. */
  constructor(store: Variables, taint?: Taint, madeOf?: Labels) {
    this.#store = store;
    this.#taint = taint;
    if (madeOf !== undefined) this.include(madeOf);
  }

  /** The variables that the call used, without duplicates. */
  get consumed(): readonly Consumed[] {
    return [...this.#consumed.values()];
  }

  /** True if the call used a sealed or secret value. Nothing that depends on its content may be shown then. */
  get isGuarded(): boolean {
    return this.#visibility !== "model";
  }

  /** True if everything that the call used is trusted, including the text that the model wrote. */
  get isTrusted(): boolean {
    return this.#taint?.isTainted !== true && this.consumed.every(({ trusted }) => trusted);
  }

  /** True if the call used an untrusted variable. Text that the model wrote does not count. */
  get hasUntrusted(): boolean {
    return this.consumed.some(({ trusted }) => !trusted);
  }

  get #visibility(): Visibility {
    return strictestVisibility(this.consumed.map(({ visibility }) => visibility));
  }

  /** Adds a variable with its current labels. Later changes have no effect. */
  add(name: string): void {
    // The listed metadata omits long inputs; this runs for every reference.
    const [info] = this.#store.list({ names: [name] });
    if (info !== undefined) this.#note({ ...info, name, ...madeOfIt(info) });
  }

  /** Marks the result as composed: it contains a URL built from values and other text. */
  compose(): void {
    this.#isComposed = true;
  }

  /** Adds the variables of other labels. */
  include(others: Labels): void {
    this.#isComposed ||= others.#isComposed;
    for (const consumed of others.consumed) this.#note(consumed);
  }

  #note(consumed: Consumed): void {
    const { name } = consumed;
    const before = this.#consumed.get(name) ?? consumed;
    // The variable may have been written in between. The labels of all its versions count.
    this.#consumed.set(name, { name, ...joinedLabels([before, consumed]) });
  }

  /** Returns the labels of a tool's result. */
  ofResult(tool: string, policy: ResultPolicy = {}): ValueLabels {
    const own: Visibility = policy.sealed === true ? "sealed" : "model";
    const isOpened = policy.declassifies === true;
    const inherited = isOpened ? "model" : this.#visibility;
    const flags = this.consumed.flatMap((consumed) => consumed.flags ?? []);
    const isComposed = !isOpened && (this.#isComposed || flags.includes("composed"));
    const sources = this.consumed.flatMap((consumed) => consumed.sources);
    return {
      visibility: strictestVisibility([own, inherited]),
      sources: [...new Set([policy.source ?? `tool:${tool}`, ...sources])],
      trusted: this.isTrusted && (policy.trusted ?? true),
      ...flagged([
        ...(isComposed ? ["composed" as const] : []),
        ...(inherited === "model" ? [] : ["derived" as const]),
      ]),
      ...madeOfAll(this.consumed.map(({ madeOf }) => madeOf)),
    };
  }
}

/**
 * True once the prompt has shown the model untrusted data that it still holds. From then on the model's own
 * words count as untrusted too.
 */
export class Taint {
  #isTainted: boolean;
  /** The taint cannot change, because no model reads what is shown. */
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
