import * as limits from "../limits.ts";
import { needsIn } from "../reference/references-in.ts";
import { inTexts } from "../reference/syntaxes.ts";
import { LookupWork } from "../reference/lookup.ts";
import { compact, type Json } from "../value/json.ts";
import { wrapOptionsFor } from "./agent.ts";
import type { Toolbox } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";

/**
 * Makes evicted values again, with the calls that made them. Only calls that no person has to approve, of tools that
 * only read (`effects: "none"`), and only values that were trusted and not guarded: the record of an evicted value does
 * not have its labels. At most `maxShownItems` in a turn. `tools`: undefined until the turn's tools are open.
 */
export function remakerFor(context: TurnContext, tools: () => Toolbox | undefined) {
  const { agent, store, signal, observer, account, newId } = context;
  const made = new Set<string>();
  const tried = new Set<string>();
  /** One after the other: what one makes, another may read. */
  let last: Promise<void> = Promise.resolve();
  const canMake = (name: string) =>
    !tried.has(name) &&
    store.glance(name) === undefined &&
    store.tombstone(name)?.isRepeatable === true;

  const makeOne = async (name: string): Promise<void> => {
    const toolbox = tools();
    if (!canMake(name) || tried.size >= limits.maxShownItems) return;
    tried.add(name);
    const { tool: toolName = "", input = null } = store.tombstone(name) ?? {};
    const tool = toolbox?.get(toolName);
    // Of the runtime's own tools only queries; no calls of plans, whose references would stay text.
    const isOwn = toolbox?.offeredFrom(toolName) !== undefined && toolName !== "query_variables";
    if (tool === undefined || isOwn || toolbox?.effectsOf(toolName) !== "none") return;
    if (needsIn(input, inTexts).length > needsIn(input, wrapOptionsFor(agent).syntaxes).length)
      return;
    for (const read of tool.flow(input).reads) await makeOne(read.name);
    const { saveAs: _, ...written } = Object(input) as Readonly<Record<string, Json>>;
    const ready = await tool.prepare(written, {
      toolCallId: newId(),
      messages: [],
      signal,
      ...compact({ observer }),
      work: new LookupWork(),
      saveTo: { operator: "first", places: [{ name, path: [], source: `$${name}` }] },
      remakes: true,
    });
    if (ready.kind === "failed" || ready.approval !== undefined) return;
    await account.spend("toolCalls", 1);
    const run = await ready.run();
    signal.throwIfAborted();
    // If it cannot be saved, the reference fails as before.
    if (run.kind === "done" && (await run.save().catch(() => undefined))) made.add(name);
  };

  return {
    /** True if the value was made again in this turn. */
    hasMade: (name: string) => made.has(name),
    /** True if `make` would try it. */
    canMake,
    /** Makes those of the values again that it can. Rejects if the turn is stopped or has spent its limit. */
    make(names: readonly string[]): Promise<void> {
      if (!names.some(canMake)) return last;
      const making = last.then(async () => {
        for (const name of names) await makeOne(name);
      });
      last = making.catch(() => undefined);
      return making;
    },
  };
}

export type Remaker = ReturnType<typeof remakerFor>;
