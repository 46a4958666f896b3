import { expandMessages } from "../agent/expand-messages.ts";
import { type ExpandingOptions, expandText } from "../agent/expand-answer.ts";
import { json, Recent, type VariableStore } from "../../../../src/internal.ts";
import type { Scorer, Scored } from "./mastra-agent.ts";
import { overlay } from "./overlay.ts";
import type { Run } from "./run.ts";

/** Runs that have ended, whose stores are kept for their scorers. */
const MAX_RUNS = 100;

/** The parts of a scorer's input that have texts of the assistant. */
const READ = ["messages", "rememberedMessages", "primitiveResult"];

/**
 * What scorers read of answers: the values that a person was shown. References to sealed variables stay as written,
 * because the judge may be a model.
 */
export class Scoring {
  readonly #options: ExpandingOptions;
  readonly #stores = new Recent<VariableStore>(MAX_RUNS);
  #hasScorers = false;

  constructor(options: ExpandingOptions) {
    this.#options = { ...options, sealed: "keep" };
  }

  /** Mastra runs an agent's scorers when the run has ended. */
  ended({ id, knownStore }: Run): void {
    if (this.#hasScorers && knownStore !== undefined) this.#stores.set(id, knownStore);
  }

  /** Returns the scorers of an agent by their names. */
  ofAgent(scorers: Readonly<Record<string, { readonly scorer: Scorer }>>): typeof scorers {
    const entries = Object.entries(scorers);
    this.#hasScorers = entries.length > 0;
    return Object.fromEntries(
      entries.map(([name, entry]) => [name, { ...entry, scorer: this.reading(entry.scorer) }]),
    );
  }

  /** Returns the scorer. `store`: of a run that has not ended. */
  reading(scorer: Scorer, store?: () => VariableStore): Scorer {
    const run = async (scored: Scored) => {
      const found = store?.() ?? this.#stores.get(scored.runId ?? "");
      return scorer.run(found === undefined ? scored : await this.shown(scored, found));
    };
    return overlay(scorer, { run: () => run });
  }

  /** Returns what is scored, with values in its texts. */
  async shown<Data extends Scored>(scored: Data, store: VariableStore): Promise<Data> {
    const read = async (held: unknown): Promise<unknown> => {
      if (typeof held === "string") return expandText(held, store, this.#options);
      return Array.isArray(held) ? expandMessages(held, store, this.#options) : held;
    };
    const { input, output } = scored;
    const shown = { ...scored, output: await read(output) };
    if (!json.isObject(input)) return shown;
    const parts = READ.filter((key) => key in input);
    const entries = await Promise.all(parts.map(async (key) => [key, await read(input[key])]));
    return { ...shown, input: { ...input, ...(Object.fromEntries(entries) as object) } };
  }
}
