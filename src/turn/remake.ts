import * as limits from "../limits.ts";
import { LookupWork } from "../reference/lookup.ts";
import { compact, type Json } from "../value/json.ts";
import type { Toolbox } from "./toolbox.ts";
import type { TurnContext } from "./turn-context.ts";

/**
 * Makes evicted values again, with the calls that made them. Only calls that no person has to approve, of tools that
 * only read (`effects: "none"`), and only values that were trusted and not guarded: the record of an evicted value does
 * not have its labels. At most `maxShownItems` in a turn.
 */
export class Remaker {
  readonly #context: TurnContext;
  readonly #tools: () => Toolbox | undefined;
  readonly #made = new Set<string>();
  readonly #tried = new Set<string>();
  /** One after the other: what one makes, another may read. */
  #last: Promise<void> = Promise.resolve();

  /** `tools`: undefined until the turn's tools are open. */
  constructor(context: TurnContext, tools: () => Toolbox | undefined) {
    this.#context = context;
    this.#tools = tools;
  }

  hasMade(name: string): boolean {
    return this.#made.has(name);
  }

  /** True if `make` would try it. */
  canMake(name: string): boolean {
    const { store } = this.#context;
    if (this.#tried.has(name) || store.glance(name) !== undefined) return false;
    return store.tombstone(name)?.isRepeatable === true;
  }

  /** Makes those of the values again that it can. Rejects if the turn is stopped or has spent its limit. */
  make(names: readonly string[]): Promise<void> {
    if (!names.some((name) => this.canMake(name))) return this.#last;
    const making = this.#last.then(async () => {
      for (const name of names) await this.#make(name);
    });
    this.#last = making.catch(() => undefined);
    return making;
  }

  async #make(name: string): Promise<void> {
    const tools = this.#tools();
    if (!this.canMake(name) || this.#tried.size >= limits.maxShownItems) return;
    this.#tried.add(name);
    const { tool: toolName = "", input = null } = this.#context.store.tombstone(name) ?? {};
    const tool = tools?.get(toolName);
    const isOwn = tools?.offeredFrom(toolName) !== undefined;
    const isRepeated = tools?.effectsOf(toolName) === "none" && (!isOwn || REPEATED.has(toolName));
    if (tool === undefined || !isRepeated) return;
    for (const read of tool.flow(input, {}).reads) await this.#make(read.name);
    const { signal, observer, account, newId } = this.#context;
    const place = { name, path: [], source: `$${name}` };
    const ready = await tool.prepare(withoutPlace(input), {
      toolCallId: newId(),
      messages: [],
      signal,
      ...compact({ observer }),
      work: new LookupWork(),
      saveTo: { operator: "first", places: [place] },
      remakes: true,
    });
    if (ready.kind === "failed" || ready.approval !== undefined) return;
    await account.spend.add("toolCalls", 1);
    const run = await ready.run();
    signal.throwIfAborted();
    // If it cannot be saved, the reference fails as before.
    if (run.kind === "done" && (await run.save().catch(() => undefined))) this.#made.add(name);
  }
}

/** The runtime's own tools whose results are made again. */
const REPEATED = new Set(["query_variables"]);

function withoutPlace(input: Json): Json {
  const { saveAs: _, ...others } = Object(input) as Readonly<Record<string, Json>>;
  return others;
}
