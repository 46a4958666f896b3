import * as limits from "../../../../src/limits.ts";
import type {
  PlanFormat,
  RunResources,
  Finding,
  ReadPlan,
} from "../../../plans/src/plan/plan-format.ts";
import { StepPrompt, requireFiles, type StepResources } from "./step-prompt.ts";
import {
  type Input,
  type TemplateStep,
  templateStepSchema,
  shorten,
  readTemplate,
  type TemplateWriteMode,
  type VariableTarget,
  fillPlaceholders,
  formatTarget,
  onlyWhole,
} from "./template.ts";
import {
  type Plan,
  type PlanCall,
  type PlanOutput,
  toolCalls,
  runtimeTools,
  type ModelAnswer,
  saveTargets,
  toolFiles,
  toolOutputs,
  type wraps,
} from "../../../../src/internal-tool.ts";
import {
  joinedLabels,
  json,
  nearest,
  variableNames,
  type ValueLabels,
  renderText,
  retryConflicts,
  type stores,
} from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";
import { ByrefError, codeOf } from "../../../../src/errors.ts";
import { STATE } from "../../../plans/src/plan/plan-record.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";

/** The tool that a template's steps call. See `promptTool`. */
export const PROMPT_TOOL = "prompt";

/** Converts a template to a plan. Its steps run one after another. */
export function planFromTemplate(text: string): ReadPlan {
  const { template, findings } = readTemplate(text);
  if (template === undefined) return { findings };
  const { name, steps } = template;
  // Steps of the same run use the results that tools write.
  const made = steps.flatMap(({ tools }) => tools.flatMap(({ target }) => target?.name ?? []));
  const { outputs, findings: conflicts } = outputsOf(steps);
  if (conflicts.length > 0) return { findings: conflicts };
  const plan: Plan = {
    ...json.compact({ name }),
    format: "template",
    calls: callsFor(steps),
    // References in a prompt are for the model that reads it.
    syntaxes: [],
    runNames: [...new Set([...outputs.map((output) => output.name), ...made])],
    outputs,
    order: "written",
  };
  return { plan, findings: [] };
}

/** Finds the tools that a template names and nobody has, and, without a bucket, its files. */
const templateFindings: PlanFormat["findings"] & object = (plan, { toolNames, hasFiles }) => {
  const known = new Set(toolNames);
  const noBucket = "file: needs a bucket, and none is bound: bind BLOBS, or use variable:.";
  return stepsIn(plan).flatMap(({ call, step: { inputs, outputs, tools } }): Finding[] => {
    const fileFindings = (at: string, all: readonly Pick<Input, "target" | "line">[]) =>
      all
        .filter(({ target }) => target.scheme === "file" && !hasFiles)
        .map(({ line }) => ({ code: "no_bucket" as const, call, at, line, message: noBucket }));
    const toolFindings = tools
      .filter(({ name }) => !known.has(name))
      .map(({ name, line }) => {
        const near = nearest(name, known);
        const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
        const message = `There is no tool ${shorten(name)}.${hint}`;
        return { code: "unknown_tool" as const, call, at: "@tools", line, message };
      });
    return [
      ...toolFindings,
      ...fileFindings("@input", inputs),
      ...fileFindings("@output", outputs),
    ];
  });
};

/** The conversation's variables that a template reads, if they exist. */
function variablesRead(plan: Plan): readonly string[] {
  const targets = stepsIn(plan).flatMap(({ step }) => step.inputs.map(({ target }) => target));
  return [...new Set(targets.flatMap((one) => (one.scheme === "variable" ? [one.name] : [])))];
}

function stepsIn({ calls }: Plan): readonly { call: string; step: TemplateStep }[] {
  return calls
    .filter(({ tool }) => tool === PROMPT_TOOL)
    .map(({ id, parameters }) => ({ call: id, step: templateStepSchema.parse(parameters) }));
}

function callsFor(steps: readonly TemplateStep[]): readonly PlanCall[] {
  const ids = new Set<string>();
  return steps.map((step, index) => {
    const id = idFor(step.title ?? "", index + 1, ids);
    ids.add(id);
    // Removes undefined fields, as JSON does.
    const parameters = json.parsedJson(JSON.stringify(withPlace(step, id))) as Record<string, Json>;
    return { id, tool: PROMPT_TOOL, parameters };
  });
}

/** Gives an answer without an output a place in the run's result. */
function withPlace(step: TemplateStep, id: string): TemplateStep {
  if (step.outputs.length > 0) return step;
  const target = { scheme: "variable", name: "state", path: [{ key: id }] } as const;
  return { ...step, outputs: [{ target, line: step.line }] };
}

const MAX_ID_CHARS = 40;

function idFor(title: string, number: number, taken: ReadonlySet<string>): string {
  const slug = variableNames
    .toIdentifier(title.slice(0, 4 * MAX_ID_CHARS).toLowerCase())
    .slice(0, MAX_ID_CHARS);
  // Ids are object keys, some of which have a meaning.
  const isPlain = /^[a-z]/.test(slug) && !(slug in Object.prototype);
  const base = isPlain ? slug : `step_${number}`;
  let id = base;
  for (let count = 2; taken.has(id); count++) id = `${base}_${count}`;
  return id;
}

interface Written extends PlanOutput {
  readonly step: TemplateStep;
  readonly line: number;
}

/** The variables that steps write. Each is passed on in one way when the run is done. */
function outputsOf(steps: readonly TemplateStep[]) {
  const written = new Map<string, Written>();
  const findings: Finding[] = [];
  const targets = steps.flatMap((step) => step.outputs.map((output) => ({ ...output, step })));
  for (const { target, line, step } of targets) {
    if (target.scheme === "file") continue;
    const { name } = target;
    const mode = step.writeMode;
    const before = written.get(name);
    if (before === undefined) written.set(name, { name, mode, step, line });
    const isNewTwice = before !== undefined && mode === "new" && before.step !== step;
    if (before === undefined || (before.mode === mode && !isNewTwice)) continue;
    const advice = isNewTwice
      ? "with @write-mode new each step needs a name of its own."
      : "one way of writing it (append, replace, new) has to be enough.";
    const message = `variable:${name} is an @output in line ${before.line} too: ${advice}`;
    findings.push({ code: "bad_directive", at: "@output", line, message });
  }
  const outputs = Array.from(written.values(), ({ name, mode }): PlanOutput => ({ name, mode }));
  return { outputs, findings };
}

/** The plan format of templates: prompts in Markdown with directives for inputs and outputs. */
export const templates: PlanFormat = {
  format: "template",
  mediaTypes: ["text/markdown"],
  read: planFromTemplate,
  tools: (resources) => [promptTool(resources)],
  findings: templateFindings,
  effectsOf: ({ parameters }, effectsOf) =>
    templateStepSchema.parse(parameters).tools.some(({ name }) => effectsOf(name) === "once")
      ? "once"
      : "none",
  reads: variablesRead,
};

/**
 * Creates the tool that runs a template's steps. Asks a model with the step's inputs, and writes the answer
 * to the step's outputs. Fails with `skipped` if a required input is missing.
 */
export function promptTool({ ask, ...resources }: RunResources): runtimeTools.RuntimeTool {
  return runtimeTools.runtimeTool({
    name: PROMPT_TOOL,
    description: "Asks a model, and writes its answer where the step says.",
    inputSchema: templateStepSchema,
    timeMs: limits.turnMs,
    async execute(step, context) {
      const { call } = context;
      const inputs = new StepPrompt(resources, context);
      const outputs = stepOutputs({ step, resources, call, tool: PROMPT_TOOL });
      outputs.requireWritable();
      const prompt = await inputs.render(step);
      const { tools } = outputs;
      const callOptions = { ...call, madeOf: inputs.questionLabels() };
      const { value, labels } = await ask({
        prompt,
        tools,
        texts: inputs.texts,
        variables: [...inputs.given],
        call: callOptions,
      });
      const answer = { value, labels: joinedLabels([labels, inputs.labelsOf(PROMPT_TOOL)]) };
      let writing: ReturnType<typeof outputs.write> | undefined;
      return {
        output: null,
        save: async () => {
          const { written, shown, kept } = await (writing ??= outputs.write(answer));
          const output = { answer: shown, written };
          return toolCalls.change(() => ({
            output,
            places: written,
            shown: output,
            ...json.compact({ kept }),
          }));
        },
      };
    },
  });
}

interface OutputOptions {
  readonly step: TemplateStep;
  readonly resources: StepResources;
  readonly call: wraps.CallOptions;
  readonly tool: string;
}

/** The outputs of one step: where its answer and the results of its tools are written. */
function stepOutputs({ step, resources, call, tool }: OutputOptions) {
  const { store } = resources;
  const { scope } = call;
  const variables = step.outputs.flatMap(({ target }) =>
    target.scheme === "variable" ? [target] : [],
  );
  /** The step's tools, and where each result is saved. */
  const tools: ReadonlyMap<string, saveTargets.SaveTarget | undefined> = new Map(
    step.tools.map(({ name, target }) => [name, target && saveTarget(target)]),
  );
  return { tools, requireWritable, write };

  /** Throws for outputs that cannot be written, before the model is asked. */
  function requireWritable(): void {
    for (const { target } of step.outputs) {
      if (target.scheme === "file") requireFiles(resources, target);
    }
    for (const target of [...variables, ...step.tools.flatMap(({ target }) => target ?? [])]) {
      const { name } = own(target);
      variableNames.requireName(name);
      if (target.path.length > 0 && target.name !== STATE) throw onlyWhole(formatTarget(target));
      // At its end, the run passes its own variables on to the conversation.
      const both = [name, target.name].map((one) => ({ ...target, name: one, source: "" }));
      saveTargets.requireOpen({ operator: "all", places: both }, store, scope?.run);
    }
  }

  /**
   * Writes the answer; variables together or not at all. Returns all places, files first, the answer for people (a
   * short value, or a handle), and the variable that keeps an answer which is not shown in full.
   */
  async function write(answer: ModelAnswer) {
    const { value, labels } = answer;
    const written = withHeader(step, value, resources);
    const files: string[] = [];
    for (const { target } of step.outputs) {
      if (target.scheme !== "file") continue;
      const path = fillPlaceholders(target.path, resources);
      const key = `${call.idempotencyKey ?? call.toolCallId} ${formatTarget(target)}`;
      const writing = { path, value: written, mode: step.writeMode, labels, call: key };
      files.push(`file:${await writeFile(requireFiles(resources, target), writing)}`);
    }
    const kept = await writeVariables(written, answer);
    const { visibility } = labels;
    const short = visibility === "model" ? toolOutputs.shortOutput(value) : { visibility };
    const shown = kept === undefined ? short : toolOutputs.shownResult(kept, value);
    const places = [...files, ...variables.map(formatTarget)];
    return { written: places, shown, ...json.compact({ kept: kept?.name }) };
  }

  /** Returns the variable that keeps the answer, if there is one. */
  async function writeVariables(value: Json, answer: ModelAnswer) {
    const about = { ...answer.labels, tool, toolCallId: call.toolCallId };
    const writes: stores.Write[] = [];
    for (const target of variables) {
      const { path } = target;
      writes.push({ ...about, ...own(target), path, ...(await modeAndValue(target, value)) });
    }
    const keeping = { call, places: variables.map(own), value: answer.value };
    const kept = toolOutputs.keptWrite({ ...about, value: answer.value }, keeping, store);
    const names = writes.map(({ name }) => String(name));
    const isGuarded = names.some((name) => (store.glance(name)?.visibility ?? "model") !== "model");
    let keptInfo: VariableInfo | undefined;
    try {
      keptInfo = await saveAll(writes, kept);
    } catch (error) {
      // The reason why a write does not fit would reveal the existing value.
      const canReveal = !isGuarded && writes.every(({ visibility }) => visibility === "model");
      const message = "The answer does not fit what is there.";
      throw canReveal ? error : new ByrefError(codeOf(error), message);
    }
    if (scope !== undefined) for (const name of names) store.holds.hold(scope.run, name);
    return keptInfo;
  }

  /** Saves without `kept` if there is no room for it. */
  async function saveAll(writes: readonly stores.Write[], kept: stores.Write | undefined) {
    if (kept !== undefined) {
      try {
        return (await store.saveAll([...writes, kept])).at(-1);
      } catch (error) {
        if (codeOf(error) !== "limit_exceeded") throw error;
      }
    }
    if (writes.length > 0) await store.saveAll(writes);
    return undefined;
  }

  /**
   * The mode and the value of a write. In a run, `new` applies when the run passes the value on; until then
   * its variable is replaced.
   */
  async function modeAndValue(target: VariableTarget, value: Json) {
    const { name, run } = own(target);
    const mode = step.writeMode;
    if (mode !== "append") return { mode: run === undefined ? mode : ("replace" as const), value };
    if (typeof value !== "string") return { mode, value };
    const reading = await store.readPath(name, target.path);
    const isText = reading?.found === true && typeof reading.value === "string";
    const before = isText ? String(reading.value) : "";
    return { mode, value: joinParagraphs(before, value).slice(before.length) };
  }

  function saveTarget(target: VariableTarget): saveTargets.SaveTarget {
    const place = { ...own(target), path: target.path, source: formatTarget(target) };
    return { operator: "all", places: [place] };
  }

  /** The variable behind a name: the run's own, or the conversation's. */
  function own({ name }: VariableTarget): { readonly name: string; readonly run?: string } {
    const inRun = scope?.nameOf(name) ?? name;
    return scope === undefined || inRun === name ? { name } : { name: inRun, run: scope.run };
  }
}

/** The answer to write. With a header, it is text below that header. */
function withHeader({ header }: TemplateStep, answer: Json, resources: StepResources): Json {
  if (header === undefined) return answer;
  return joinParagraphs(fillPlaceholders(header, resources), renderText(answer));
}

interface Writing {
  readonly path: string;
  readonly value: Json;
  readonly mode: TemplateWriteMode;
  readonly labels: ValueLabels;
  /** The call's key, the same in each attempt. A repeated call removes its earlier addition first. */
  readonly call: string;
}

/** Writes the file and returns its path. Throws `conflict`, and errors of `files`. */
async function writeFile(
  files: toolFiles.Files,
  { mode, path, value, labels, call }: Writing,
): Promise<string> {
  if (mode === "replace") return (await files.write(path, contentFor(path, value), labels)).path;
  return retryConflicts(files, async () => {
    const written = mode === "new" ? await numberedPath(files, path, call) : path;
    const file = await files.read(written);
    const all = file === undefined || mode === "new" ? [labels] : [file.labels, labels];
    // Without what an earlier attempt of the call has added.
    const isOwn = file?.addition?.call === call;
    const from = isOwn ? file.addition?.from : file?.text.length;
    const before = file?.text.slice(0, from) ?? "";
    const text = { ...contentFor(path, ""), text: joinParagraphs(before, renderText(value)) };
    await files.write(written, mode === "new" ? contentFor(written, value) : text, {
      ...joinedLabels(all),
      expected: mode === "new" && !isOwn ? null : (file?.version ?? null),
      addition: { call, from: before.length },
    });
    return written;
  });
}

/** The first free numbered path, or the one that an earlier attempt of the call has written. */
async function numberedPath(files: toolFiles.Files, path: string, call: string): Promise<string> {
  const [, stem = path, end = ""] = /^(.*[^/])(\.[^./]+)$/s.exec(path) ?? [];
  const named = { start: `${stem}_`, end };
  const last = highestIn(await files.list(named.start), named);
  const info = last < 0 ? undefined : await files.info(pathAt(last, named));
  return pathAt(info?.addition?.call === call ? last : last + 1, named);
}

/** The text before and after the number: `notes/a_000.md`, `notes/a_001.md` … for `notes/a.md`. */
interface NumberedNames {
  readonly start: string;
  readonly end: string;
}

function pathAt(number: number, { start, end }: NumberedNames): string {
  return `${start}${String(number).padStart(3, "0")}${end}`;
}

/** The highest number in use. -1 if there is none. */
function highestIn(paths: readonly string[], { start, end }: NumberedNames): number {
  const numbers = paths
    .filter((path) => path.endsWith(end))
    .map((path) => path.slice(start.length, path.length - end.length))
    .filter((digits) => /^\d{3,9}$/.test(digits));
  return numbers.reduce((highest, digits) => Math.max(highest, Number(digits)), -1);
}

const mediaTypes: Readonly<Record<toolFiles.FileFormat, string>> = {
  json: "application/json",
  csv: "text/csv",
  md: "text/markdown",
  txt: "text/plain",
};

/**
 * The content of a file: a text as the model wrote it, any other value in the format of the file's extension.
 */
function contentFor(path: string, value: Json): toolFiles.FileContent {
  const format = toolFiles.formatFor(path, value);
  return typeof value === "string"
    ? { text: value, mediaType: mediaTypes[format] }
    : toolFiles.fileContent(value, format);
}

function joinParagraphs(before: string, text: string): string {
  return before === "" ? text : `${before}\n\n${text}`;
}
