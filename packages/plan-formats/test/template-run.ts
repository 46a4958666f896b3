import type { RunResources } from "../../plans/src/plan/plan-format.ts";
import type { AskModel, ModelQuestion } from "../../../src/turn/sub-turn.ts";
import type { ModelAnswer } from "../../../src/turn/delegate-tool.ts";
import { type RunRecord, nameInRun } from "../../plans/src/plan/plan-record.ts";
import type { Plan } from "../../../src/turn/plan.ts";
import { promptTool, planFromTemplate } from "../src/template/templates.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { VariableStore } from "../../../src/store/variables.ts";
import { wrapTools } from "../../../src/tool/tool-call.ts";
import type { WrapOptions } from "../../../src/tool/wrapped-tool.ts";
import { commitOutcome } from "../../plans/src/run/plan-turn.ts";
import type { Json } from "../../../src/value/json.ts";
import { MemoryFiles } from "../../../test/support/memory-files.ts";
import { checkedPlan, planRun, runRecord } from "../../../test/support/plan-runs.ts";

export const today = "2026-11-22";

/** The prompt of a template's step. Throws the reason why there is none. Without `files`, there is no bucket. */
export async function asked(
  text: string,
  variables: Readonly<Record<string, Json>>,
  files?: Readonly<Record<string, string>>,
): Promise<string> {
  const stored = new MemoryFiles();
  for (const [path, content] of Object.entries(files ?? {})) stored.put(path, content);
  const runs = new TemplateRuns(files === undefined ? {} : { files: stored });
  for (const [name, value] of Object.entries(variables)) await runs.store.save({ name, value });
  const { calls } = await runs.run(text);
  const [prompt] = runs.prompts;
  if (prompt === undefined) throw new Error(calls["step_1"]?.reason);
  return prompt;
}

type Answering = (question: ModelQuestion) => Json | Promise<Json>;

export interface TemplateSetting extends Pick<WrapOptions, "untrusted" | "taint"> {
  readonly store?: VariableStore;
  readonly files?: MemoryFiles;
  readonly answer?: Answering;
  /** A model that answers in place of `answer`. */
  readonly ask?: AskModel;
  /** Labels that the model's answers add. */
  readonly labels?: Partial<ModelAnswer["labels"]>;
}

export function planOf(text: string): Plan {
  const { plan, findings } = planFromTemplate(text);
  if (plan === undefined) throw new Error(JSON.stringify(findings));
  // The plan as read back from storage.
  return JSON.parse(JSON.stringify(plan)) as Plan;
}

/** Runs templates in a conversation, with a model that answers A, B, C … */
export class TemplateRuns {
  readonly store: VariableStore;
  readonly questions: ModelQuestion[] = [];
  readonly #setting: TemplateSetting;
  #runs = 0;

  constructor(setting: TemplateSetting = {}) {
    this.#setting = setting;
    this.store = setting.store ?? new MemoryStore();
  }

  get prompts(): readonly string[] {
    return this.questions.map(({ prompt }) => prompt);
  }

  /** Runs a template with this input and commits its outcome to the conversation. */
  async run(text: string, input: Json = {}): Promise<RunRecord> {
    let record = await this.runOnly(text, input);
    const plans = { saveRun: (ended: RunRecord) => void (record = ended), saveState() {} };
    await commitOutcome({ plans, store: this.store, plan: planOf(text), record }, (close) => {
      close();
    });
    return record;
  }

  /** Runs a template without committing its outcome. */
  async runOnly(text: string, input: Json = {}): Promise<RunRecord> {
    const id = `run${++this.#runs}`;
    await this.store.save({ name: nameInRun(id, "input", []), value: input, run: id });
    return this.goOn(text, runRecord(id));
  }

  async goOn(text: string, record: RunRecord): Promise<RunRecord> {
    const { store } = this;
    const tool = promptTool({ store, today, ask: this.#ask, ...this.#files });
    const checked = await checkedPlan(planOf(text), {
      tools: { prompt: { inputSchema: tool.inputSchema } },
      isKnown: () => true,
    });
    const { untrusted, taint } = this.#setting;
    const tools = await wrapTools([tool], {
      store,
      owner: record.id,
      ...(untrusted === undefined ? {} : { untrusted }),
      ...(taint === undefined ? {} : { taint }),
    });
    return planRun({ checked, record, store, tools, effectsOf: () => "none" }).run();
  }

  readonly #ask: RunResources["ask"] = async (question) => {
    this.questions.push(question);
    if (this.#setting.ask !== undefined) return this.#setting.ask(question);
    const letter = String.fromCharCode(64 + this.questions.length);
    const { answer = () => letter, labels } = this.#setting;
    const value = await answer(question);
    return {
      value,
      labels: { visibility: "model", sources: ["agent:test"], trusted: true, ...labels },
    };
  };

  get #files(): Pick<RunResources, "files"> {
    const { files } = this.#setting;
    return files === undefined ? {} : { files };
  }
}
