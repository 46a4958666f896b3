import { asSchema, type ToolSet } from "ai";
import { messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { type Need, referencesIn } from "../reference/references-in.ts";
import { type SaveTarget, saveTargetIn } from "../tool/save-target.ts";
import { issuesOf } from "../tool/tool-input.ts";
import { gatesIn } from "./gates.ts";
import { cycleIn } from "./graph.ts";
import { PathIndex, type Writers } from "./path-index.ts";
import type { Finding, FindingCode, Plan, PlanCall } from "./plan.ts";
import { GATES } from "./run-record.ts";

/** What a plan is checked against. */
export interface PlanContext {
  readonly tools: ToolSet;
  /** Is there a variable of this name in the conversation? */
  readonly isKnown: (name: string) => boolean;
}

/** A call with what ties it to the others. */
export interface CheckedCall {
  readonly call: PlanCall;
  readonly target?: SaveTarget;
  readonly needs: readonly CheckedNeed[];
  /** Gates that have to be opened before it starts. */
  readonly gates: readonly string[];
  /** Indices of the calls that come before it. */
  readonly dependsOn: ReadonlySet<number>;
}

export interface CheckedNeed extends Need {
  /** Of each reference, who writes it in this plan; undefined for what the conversation has. */
  readonly writers: readonly (Writers | undefined)[];
}

export interface CheckedPlan {
  readonly plan: Plan;
  readonly calls: readonly CheckedCall[];
}

/**
 * What is wrong with a plan, all of it, or else the plan ready to run. Nothing runs here. Cost: linear in the
 * calls, their parameters and what ties them together.
 */
export async function checkPlan(
  plan: Plan,
  context: PlanContext,
): Promise<{ readonly findings: readonly Finding[]; readonly checked?: CheckedPlan }> {
  if (plan.calls.length > limits.maxPlanCalls) {
    const message = `A plan has at most ${limits.maxPlanCalls} calls, this one ${plan.calls.length}.`;
    return { findings: [{ code: "too_many_calls", message }] };
  }
  const check = new Check(plan, context);
  const calls = await check.run();
  const { findings } = check;
  return findings.length > 0 ? { findings } : { findings, checked: { plan, calls } };
}

class Check {
  readonly findings: Finding[] = [];
  readonly #plan: Plan;
  readonly #context: PlanContext;
  readonly #index = new PathIndex();
  readonly #targets: (SaveTarget | undefined)[] = [];

  constructor(plan: Plan, context: PlanContext) {
    this.#plan = plan;
    this.#context = context;
  }

  async run(): Promise<readonly CheckedCall[]> {
    const { calls } = this.#plan;
    // Who writes what has to be known before anybody's references are looked at.
    const late: Finding[][] = calls.map((call, index) => this.#addTarget(call, index));
    const ids = new Set<string>();
    const checked: CheckedCall[] = [];
    for (const [index, call] of calls.entries()) {
      if (ids.has(call.id)) {
        this.#find("duplicate_id", call, { at: "_id", message: `${call.id} is used twice.` });
      }
      ids.add(call.id);
      await this.#checkTool(call);
      checked.push(this.#checkNeeds(call, index));
      this.findings.push(...(late[index] ?? []));
    }
    this.#checkOrder(checked);
    this.#checkRunNames();
    return checked;
  }

  /** What is wrong with the output path, to be told in the order in which a call is written. */
  #addTarget(call: PlanCall, index: number): Finding[] {
    const { outputPath, id } = call;
    if (outputPath === undefined) return [];
    const about = { call: id, at: "_outputPath" };
    try {
      const target = saveTargetIn(outputPath);
      this.#targets[index] = target;
      const overlaps = target.places.flatMap((place) =>
        this.#index
          .add(place, { call: index, source: place.source })
          .filter((writer) => writer.call !== index)
          .map((writer) => ({ place, other: this.#plan.calls[writer.call]?.id ?? "" })),
      );
      // In the written order the later one replaces what the earlier one wrote.
      if (this.#plan.order === "written") return [];
      return overlaps.map(({ place, other }) => ({
        code: "duplicate_producer",
        ...about,
        message: `${place.source} is written by ${other} too; give each its own place.`,
      }));
    } catch (error) {
      return [{ code: "bad_output_path", ...about, message: messageOf(error) }];
    }
  }

  async #checkTool(call: PlanCall): Promise<void> {
    const tool = Object.hasOwn(this.#context.tools, call.tool)
      ? this.#context.tools[call.tool]
      : undefined;
    if (tool === undefined) {
      const known = Object.keys(this.#context.tools).join(", ");
      const message = `There is no tool ${call.tool}; there are: ${known}.`;
      this.#find("unknown_tool", call, { at: "_tool", message });
      return;
    }
    const { validate } = asSchema(tool.inputSchema);
    const result = await validate?.(call.parameters);
    if (result === undefined || result.success) return;
    const open = new Set(referencesIn(call.parameters, this.#plan.syntaxes).map(({ at }) => at));
    for (const { path, message } of issuesOf(result.error)) {
      // What a reference stands for is known when it is resolved.
      const isOpen = path.some((_, depth) => open.has(path.slice(0, depth + 1).join(".")));
      if (!isOpen) this.#find("invalid_parameters", call, { at: path.join("."), message });
    }
  }

  #checkNeeds(call: PlanCall, index: number): CheckedCall {
    const needs = referencesIn(call.parameters, this.#plan.syntaxes);
    const gates = gatesIn(call, this.#plan);
    this.#checkDollars(call);
    const target = this.#targets[index];
    const own = { call, gates, ...(target === undefined ? {} : { target }) };
    // One after the other: what is not there by then stays in the text as it is.
    if (this.#plan.order === "written") return { ...own, needs: [], dependsOn: new Set() };
    const dependsOn = new Set<number>();
    const checked = needs.map((need): CheckedNeed => {
      const writers = need.references.map((reference) => {
        const found = this.#index.find(reference);
        for (const writer of [...found.whole, ...found.parts]) dependsOn.add(writer.call);
        return found.whole.length + found.parts.length > 0 ? found : undefined;
      });
      const isMissing = need.references.map(
        ({ name }, at) => writers[at] === undefined && !this.#isThere(name),
      );
      const isLacking =
        need.operator === "first" ? isMissing.every(Boolean) : isMissing.some(Boolean);
      if (isLacking) {
        const message = `Nothing writes ${need.source}, and there is no such variable.`;
        this.#find("no_producer", call, { at: need.at, message });
      }
      return { ...need, writers };
    });
    return { ...own, needs: checked, dependsOn };
  }

  /** Elsewhere a model writes them so; here they would stay text. */
  #checkDollars(call: PlanCall): void {
    if (this.#plan.format !== "json") return;
    for (const { at, source, references } of referencesIn(call.parameters, ["dollar"])) {
      const isMeant = references.some(
        ({ name }) => name === "input" || this.#index.has(name) || this.#context.isKnown(name),
      );
      if (!isMeant) continue;
      const message = `References in a plan begin with †: write †${source.slice(1)}, not ${source}.`;
      this.#find("bad_reference", call, { at, message });
    }
  }

  /** A run has its own input; `state` begins empty, so only what a call writes is in it. */
  #isThere(name: string): boolean {
    if (name === "input" || name === GATES) return true;
    const isOwn = name === "state" || this.#plan.runNames.includes(name) || this.#index.has(name);
    // A text with an unknown name in it is a text: only the dagger makes a reference of it.
    return !isOwn && (this.#context.isKnown(name) || !this.#plan.syntaxes.includes("dagger"));
  }

  /** In a run its id stands behind them. */
  #checkRunNames(): void {
    const maximum = limits.maxNameChars - limits.runIdChars - 1;
    for (const name of this.#plan.runNames) {
      if (name.length <= maximum) continue;
      const message = `${name} is too long for a variable of a run: ${maximum} characters at most.`;
      this.findings.push({ code: "bad_output_path", message });
    }
  }

  #checkOrder(calls: readonly CheckedCall[]): void {
    if (this.#plan.order === "written") return;
    const cycle = cycleIn(calls.map(({ dependsOn }) => dependsOn));
    if (cycle === undefined) return;
    const ids = cycle.map((index) => calls[index]?.call.id ?? "");
    const message = `These wait for one another: ${ids.join(" → ")}.`;
    this.findings.push({ code: "cycle", call: ids[0] ?? "", message });
  }

  #find(code: FindingCode, { id }: PlanCall, about: Pick<Finding, "at" | "message">): void {
    this.findings.push({ code, call: id, ...about });
  }
}
