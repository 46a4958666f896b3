import { tool, type ToolSet } from "ai";
import * as z from "zod";
import {
  withKnownTools,
  readCapabilities,
} from "../../packages/plan-formats/src/capability/capability-workflows.ts";
import type { RunRecord } from "../../packages/plans/src/plan/plan-record.ts";
import { variableCapability } from "../../packages/plan-formats/src/capability/variable-capability.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapRuntimeTools, wrapTools } from "../../src/tool/tool-call.ts";
import type { Json } from "../../src/value/json.ts";
import { checkedPlan, planRun, runRecord } from "./plan-runs.ts";

/** The name and input of a tool call, in call order. */
type Called = readonly [name: string, input: unknown];

/** A conversation in which workflows run. */
export class Workflows {
  readonly store = new MemoryStore();
  readonly called: Called[] = [];
  readonly #tools: ToolSet;
  #count = 0;

  constructor(
    answers: Readonly<Record<string, (input: Readonly<Record<string, string>>) => Json>>,
  ) {
    const recorded = Object.entries(answers).map(([name, answer]) => {
      const execute = (input: Readonly<Record<string, string>>) => {
        this.called.push([name, input]);
        return answer(input);
      };
      return [name, tool({ inputSchema: z.record(z.string(), z.any()), execute })] as const;
    });
    this.#tools = Object.fromEntries(recorded);
  }

  add(name: string, added: ToolSet[string]): this {
    this.#tools[name] = added;
    return this;
  }

  /** Runs a workflow to its end, or until `signal` aborts. The run's variables remain in the store. */
  readonly run = async (xml: string, signal = new AbortController().signal): Promise<RunRecord> => {
    const { store } = this;
    const { plan, findings } = readCapabilities(xml);
    if (plan === undefined) throw new Error(JSON.stringify(findings));
    const owner = `run_${++this.#count}`;
    const options = { store, syntaxes: plan.syntaxes, owner };
    const own = await wrapRuntimeTools(variableCapability, options);
    const shown = Object.fromEntries(Array.from(own, ([name, { shown }]) => [name, shown]));
    const tools = { ...this.#tools, ...shown };
    const known = await withKnownTools(plan, tools);
    const run = planRun({
      checked: await checkedPlan(known, { tools, isKnown: () => false }),
      record: runRecord(owner),
      store,
      tools: new Map([...(await wrapTools(this.#tools, options)), ...own]),
      signal,
    });
    return run.run();
  };

  /** Returns the run's variables by the names that the workflow uses. */
  readonly ownOf = async ({ id }: RunRecord): Promise<Record<string, Json>> => {
    const own = this.store.list().filter(({ name }) => name.endsWith(`_${id}`));
    const values: Record<string, Json> = {};
    for (const { name } of own) {
      values[name.slice(0, -id.length - 1)] = (await this.store.read(name)) as Json;
    }
    return values;
  };
}
