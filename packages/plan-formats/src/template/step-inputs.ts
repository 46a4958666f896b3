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
import type { Shown, StepSources, Withheld } from "./render-step.ts";

/** The stores from which a step reads its inputs and to which it writes its answer. */
export type StepResources = Omit<RunResources, "ask">;

/** The inputs of one step, and what the answer to them is made of. */
export function stepInputs(
  { store, files, today }: StepResources,
  { labels, call, hidesUntrusted }: runtimeTools.RuntimeToolContext,
) {
  const texts: string[] = [];
  /** Names of the variables that the template requested, as written in it. */
  const given = new Set<string>();
  const ofFiles: ValueLabels[] = [];
  const used = new Labels(store);
  /** The work that all directives share. */
  const work = new LookupWork();
  const sources: StepSources = {
    today,
    exists: (name) => {
      const variable = variableOf(name);
      return variable !== undefined && store.glance(variable) !== undefined;
    },
    read: readVariable,
    ...(files !== undefined && {
      files: { list: (prefix) => files.list(prefix), read: (path) => readFile(path, files) },
    }),
  };
  return {
    sources,
    texts,
    given,
    labelsOf,
    questionLabels: () =>
      new Labels(store, new Taint(!(labels.isTrusted && labelsOf("").trusted)), labels),
  };

  /** The labels of a tool's result made from the shown values. */
  function labelsOf(tool: string): ValueLabels {
    return joinedLabels([labels.ofResult(tool), ...ofFiles]);
  }

  async function readVariable({ name, path }: Reference): Promise<Shown> {
    const variable = variableOf(name);
    if (variable === undefined) return { found: false, reason: "unknown" };
    const info = store.info(variable);
    const why = info === undefined ? undefined : whyWithheld(info);
    // The store already answers for secrets: it reveals only that the value is secret.
    if (info !== undefined && why !== undefined && why !== "secret") {
      const { type, count } = why === "hidden" ? info : (toolOutputs.guardedView(info) ?? {});
      return withheld(why, `variable:${name}${type === undefined ? "" : ` (${type}, ${count})`}`);
    }
    const lookup = lookupInStore(store, { onUsed: note });
    const found = await lookup({ name: variable, path }, work);
    return found.found && info?.trusted === false ? { ...found, untrusted: true } : found;
  }

  function variableOf(name: string): string | undefined {
    given.add(name);
    return variableFor(name, store, call.scope);
  }

  /** Records a used variable. The context uses the run's names for variables, which hide others. */
  function note(variable: string): void {
    used.add(variable);
    labels.include(used);
  }

  async function readFile(path: string, files: toolFiles.Files): Promise<Shown> {
    const info = await files.info(path);
    const before = info === undefined ? undefined : whyWithheld(info.labels);
    // The length of a withheld file also reveals something, so the file is not read.
    if (before !== undefined) return withheld(before, `file:${path}`);
    const file = info === undefined ? undefined : await files.read(path);
    if (file === undefined) return { found: false, reason: "unknown" };
    // The file may have been written meanwhile.
    const why = whyWithheld(file.labels);
    if (why !== undefined) return withheld(why, `file:${path}`);
    work.spend(file.text.length);
    ofFiles.push(file.labels);
    texts.push(file.text);
    const found = { found: true, value: file.text } as const;
    return file.labels.trusted ? found : { ...found, untrusted: true };
  }

  function whyWithheld({ visibility, trusted }: Pick<VariableInfo, "visibility" | "trusted">) {
    if (visibility !== "model") return visibility;
    return !trusted && hidesUntrusted ? "hidden" : undefined;
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
