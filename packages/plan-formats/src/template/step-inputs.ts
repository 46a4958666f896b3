import type { Reference } from "../../../../src/references.ts";
import {
  lookupInStore,
  scopes,
  toolOutputs,
  type toolFiles,
  type wraps,
  type runtimeTools,
} from "../../../../src/internal-tool.ts";
import {
  joinedLabels,
  Labels,
  LookupWork,
  Taint,
  type ValueLabels,
  type VariableStore,
} from "../../../../src/internal.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { RunResources } from "../../../plans/src/plan/plan-format.ts";
import type { Shown, StepSources, TemplateFiles, Withheld } from "./render-step.ts";

/** The stores from which a step reads its inputs and to which it writes its answer. */
export type StepResources = Omit<RunResources, "ask">;

export class StepInputs implements StepSources {
  readonly today: string;
  readonly files?: TemplateFiles;
  readonly #resources: StepResources;
  readonly #context: runtimeTools.RuntimeToolContext;
  readonly #ofFiles: ValueLabels[] = [];
  readonly texts: string[] = [];
  readonly #given = new Set<string>();
  readonly #used: Labels;
  /** The work that all directives share. */
  readonly #work = new LookupWork();

  constructor(resources: StepResources, context: runtimeTools.RuntimeToolContext) {
    const { store, files, today } = resources;
    this.#resources = resources;
    this.#context = context;
    this.#used = new Labels(store);
    this.today = today;
    if (files !== undefined) {
      this.files = {
        list: (prefix) => files.list(prefix),
        read: (path) => this.#readFile(path, files),
      };
    }
  }

  /** Names of the variables that the template requested, as written in it. */
  get variables(): readonly string[] {
    return [...this.#given];
  }

  get questionLabels(): Labels {
    const { store } = this.#resources;
    const { labels } = this.#context;
    const isTrusted = labels.isTrusted && this.labelsOf("").trusted;
    return new Labels(store, new Taint(!isTrusted), labels);
  }

  /** The labels of a tool's result made from the shown values. */
  labelsOf(tool: string): ValueLabels {
    return joinedLabels([this.#context.labels.ofResult(tool), ...this.#ofFiles]);
  }

  exists(name: string): boolean {
    const variable = this.#variable(name);
    return variable !== undefined && this.#resources.store.glance(variable) !== undefined;
  }

  async read({ name, path }: Reference): Promise<Shown> {
    const { store } = this.#resources;
    const variable = this.#variable(name);
    if (variable === undefined) return { found: false, reason: "unknown" };
    const info = store.info(variable);
    const why = info === undefined ? undefined : this.#whyWithheld(info);
    // The store already answers for secrets: it reveals only that the value is secret.
    if (info !== undefined && why !== undefined && why !== "secret") {
      const { type, count } = why === "hidden" ? info : (toolOutputs.guardedView(info) ?? {});
      return withheld(why, `variable:${name}${type === undefined ? "" : ` (${type}, ${count})`}`);
    }
    const lookup = lookupInStore(store, { onUsed: (used) => this.#note(used) });
    const found = await lookup({ name: variable, path }, this.#work);
    return found.found && info?.trusted === false ? { ...found, untrusted: true } : found;
  }

  #variable(name: string): string | undefined {
    this.#given.add(name);
    return variableFor(name, this.#resources.store, this.#context.call.scope);
  }

  /** Records a used variable. The context uses the run's names for variables, which hide others. */
  #note(variable: string): void {
    this.#used.add(variable);
    this.#context.labels.include(this.#used);
  }

  async #readFile(path: string, files: toolFiles.Files): Promise<Shown> {
    const info = await files.info(path);
    const before = info === undefined ? undefined : this.#whyWithheld(info.labels);
    // The length of a withheld file also reveals something, so the file is not read.
    if (before !== undefined) return withheld(before, `file:${path}`);
    const file = info === undefined ? undefined : await files.read(path);
    if (file === undefined) return { found: false, reason: "unknown" };
    // The file may have been written meanwhile.
    const why = this.#whyWithheld(file.labels);
    if (why !== undefined) return withheld(why, `file:${path}`);
    this.#work.spend(file.text.length);
    this.#ofFiles.push(file.labels);
    this.texts.push(file.text);
    const found = { found: true, value: file.text } as const;
    return file.labels.trusted ? found : { ...found, untrusted: true };
  }

  #whyWithheld({ visibility, trusted }: Pick<VariableInfo, "visibility" | "trusted">) {
    if (visibility !== "model") return visibility;
    return !trusted && this.#context.hidesUntrusted ? "hidden" : undefined;
  }
}

/**
 * The variable behind a name: the run's own if it exists, else the conversation's unless it belongs to a run.
 */
export function variableFor(
  name: string,
  store: VariableStore,
  scope?: wraps.RunScope,
): string | undefined {
  const own = scopes.nameFor(name, store, scope);
  if (own === undefined) return undefined;
  const isWritten = store.glance(own) !== undefined || store.tombstone(own) !== undefined;
  return isWritten ? own : scopes.nameFor(name, store);
}

function withheld(why: "sealed" | "secret" | "hidden", what: string): Withheld {
  return { found: false, reason: "withheld", text: `[${why}: ${what}]` };
}
