import { ChunkExpander, type Showing, shownText } from "./expand-output.ts";
import type { AnswerEvent, CallOptions, Chunk } from "./mastra-agent.ts";

/** The callbacks that receive the text of an answer or of a step. */
const TEXTS = ["onStepFinish", "onIterationComplete", "onFinish"] as const;
/** The callbacks that are called when a run has ended. */
const ENDINGS: ReadonlySet<string> = new Set(["onFinish", "onError", "onAbort"]);

type Callbacks = Pick<CallOptions, "onChunk" | "onError" | "onAbort" | (typeof TEXTS)[number]>;

/**
 * Returns the callbacks of a call, which receive texts and chunks as people get them. The messages and steps of
 * their events are for histories, and stay as Mastra recorded them.
 */
export function shownEvents(given: Callbacks, showing: Showing, end: () => void): Callbacks {
  const pieces = new Pieces(given.onChunk, showing);
  const names = ([...TEXTS, "onError", "onAbort"] as const).filter(
    (name) => name !== "onIterationComplete" || given[name] !== undefined,
  );
  const callbacks = names.map((name) => [
    name,
    async (event: AnswerEvent) => {
      await pieces.end();
      const { text } = event;
      const shown =
        text === undefined
          ? event
          : { ...event, text: await shownText({ ...event, text }, showing) };
      if (ENDINGS.has(name) && event.finishReason !== "suspended") end();
      return given[name]?.(shown);
    },
  ]);
  const onChunk = (chunk: Chunk) => pieces.write(chunk);
  return { ...Object.fromEntries(callbacks), ...(given.onChunk && { onChunk }) };
}

/** The chunks for `onChunk`, which Mastra calls without the starts and ends of texts. */
class Pieces {
  readonly #onChunk: CallOptions["onChunk"];
  readonly #showing: Showing;
  readonly #open = new Set<unknown>();
  #expander: ChunkExpander | undefined;

  constructor(onChunk: CallOptions["onChunk"], showing: Showing) {
    this.#onChunk = onChunk;
    this.#showing = showing;
  }

  async write(chunk: Chunk): Promise<void> {
    this.#expander ??= new ChunkExpander(this.#showing);
    const id = chunk.payload?.id;
    if (chunk.type === "text-delta" && !this.#open.has(id)) {
      this.#open.add(id);
      await this.#pass(
        await this.#expander.write({ ...chunk, type: "text-start", payload: { id } }),
      );
    }
    await this.#pass(await this.#expander.write(chunk));
  }

  /** Passes on what is held of a step's texts. Texts of the next step may have the same ids. */
  async end(): Promise<void> {
    this.#open.clear();
    await this.#pass((await this.#expander?.end()) ?? []);
  }

  async #pass(chunks: readonly Chunk[]): Promise<void> {
    for (const chunk of chunks) {
      if (chunk.type !== "text-start") await this.#onChunk?.(chunk);
    }
  }
}
