import { NOT_PLANNED } from "./slice-calls.ts";
import { RESERVED_NAMES } from "../plan/run-names.ts";
import {
  json,
  needsIn,
  type Syntaxes,
  targets,
  type VariableStore,
} from "../../../../src/internal.ts";
import type { PlanCall } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";

/** The calls that make stale values again, and the values that no call makes again. */
export interface Recomputation {
  readonly calls: readonly PlanCall[];
  readonly left: readonly { readonly name: string; readonly reason: string }[];
  /** True if one of the values is untrusted: a model may have written its call after it had seen untrusted content. */
  readonly tainted: boolean;
}

interface RecomputeOptions {
  readonly store: VariableStore;
  /** The syntaxes in which the calls were written. */
  readonly syntaxes: Syntaxes;
  readonly hasTool: (name: string) => boolean;
  /** Default: all that are stale. */
  readonly names?: readonly string[] | undefined;
}

/**
 * Returns the least calls after which these variables, and what they are made of, are not stale: each is the call that
 * made the variable, as it was written, and reads what is there now. Runs nothing. Throws `variable_not_found`.
 */
export function recomputationOf(options: RecomputeOptions): Recomputation {
  const { store, names } = options;
  for (const name of names ?? []) targets.existing(store, name);
  const infos = store.list().filter(({ scope }) => scope === "conversation");
  const walk = new Walk(new Map(infos.map((info) => [info.name, info])), options);
  for (const name of names ?? infos.map((info) => info.name)) walk.isMadeAgain(name);
  return walk;
}

class Walk implements Recomputation {
  readonly calls: PlanCall[] = [];
  readonly left: { name: string; reason: string }[] = [];
  tainted = false;
  readonly #infos: ReadonlyMap<string, VariableInfo>;
  readonly #options: RecomputeOptions;
  readonly #known = new Map<string, boolean>();
  /** Names on the way to the current one, each made of the next. */
  readonly #way = new Set<string>();
  /** Names that are made of themselves. */
  readonly #circular = new Set<string>();

  constructor(infos: ReadonlyMap<string, VariableInfo>, options: RecomputeOptions) {
    this.#infos = infos;
    this.#options = options;
  }

  /** True if one of the calls makes it. The calls for what it is made of come first. */
  isMadeAgain(name: string): boolean {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#way.has(name)) {
      const way = [...this.#way];
      for (const one of way.slice(way.indexOf(name))) this.#circular.add(one);
      return false;
    }
    const info = this.#infos.get(name);
    this.#way.add(name);
    const sources = Object.keys(info?.madeOf ?? {}).filter((source) => source !== name);
    const again = sources.filter((source) => this.isMadeAgain(source));
    this.#way.delete(name);
    const isMade = info?.stale !== undefined && this.#add(info, again);
    this.#known.set(name, isMade);
    return isMade;
  }

  #add(info: VariableInfo, again: readonly string[]): boolean {
    const { name, trusted } = info;
    const written = this.#options.store.info(name)?.input;
    const reason = this.#whyLeft({ ...info, ...json.compact({ input: written }) }, again);
    if (reason !== undefined) {
      this.left.push({ name, reason });
      return false;
    }
    const { tool = "" } = info;
    const parameters = parametersOf(tool, written as Readonly<Record<string, Json>>);
    this.calls.push({ id: name, tool, parameters, outputPath: `$${name}`, reads: again });
    this.tainted ||= !trusted;
    return true;
  }

  /** Why its call cannot make the value again, or need not. */
  #whyLeft(info: VariableInfo, again: readonly string[]): string | undefined {
    const { name, tool, input, madeOf = {}, stale, visibility } = info;
    const { syntaxes, hasTool } = this.#options;
    if (this.#circular.has(name)) return "it is made of itself, through another value";
    if (visibility === "secret" || RESERVED_NAMES.includes(name)) return "no call may write it";
    if (tool === undefined || Object.hasOwn(madeOf, name))
      return "it was edited or added to after its call, or is one of several values of it";
    if (NOT_PLANNED.test(tool)) return `${tool} has no place in a plan`;
    if (!hasTool(tool)) return `there is no tool ${tool}`;
    if (input === undefined || !json.isJsonObject(input))
      return "the input of its call was not kept";
    const gone = Object.keys(madeOf).find((source) => !this.#infos.has(source));
    if (gone !== undefined) return `it is made of $${gone}, which is gone`;
    const read = needsIn(input, syntaxes).flatMap(({ references }) => references);
    if (read.some((one) => one.name === "input" || one.name === "approvals"))
      return "its call reads what came with one message";
    const isNewer = Object.entries(madeOf).some(
      ([source, version]) =>
        this.#infos.get(source)?.version !== version ||
        stale?.madeOf.some((newer) => newer.name === source),
    );
    if (isNewer || again.length > 0) return undefined;
    return "what it is made of cannot be made again";
  }
}

/** The input of a call, without where it saves its result. */
function parametersOf(tool: string, input: Readonly<Record<string, Json>>): PlanCall["parameters"] {
  const { saveAs: _saveAs, outputs: _outputs, ...others } = input;
  if (tool === "set_variable") return { value: input["value"] ?? null };
  return OWN.has(tool) ? others : input;
}

const OWN = new Set(["edit_variable", "query_variables", "run_code"]);
