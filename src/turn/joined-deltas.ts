import type { UIMessageChunk } from "ai";
import * as limits from "../limits.ts";

type Delta = Extract<UIMessageChunk, { type: "text-delta" }>;

/**
 * Joins what one delta of the model becomes, so that a reference does not cut it into several. Text before a
 * lookup that takes time is emitted at once.
 */
export class JoinedDeltas {
  readonly #emit: (chunk: UIMessageChunk) => void;
  #isJoining = false;
  #delta: Delta | undefined;

  constructor(emit: (chunk: UIMessageChunk) => void) {
    this.#emit = emit;
  }

  readonly emit = (chunk: UIMessageChunk): void => {
    const isPlain = chunk.type === "text-delta" && chunk.providerMetadata === undefined;
    if (!this.#isJoining || !isPlain) {
      this.#flush();
      this.#emit(chunk);
      return;
    }
    const { delta } = chunk;
    const previous = this.#delta;
    const isSame = previous?.id === chunk.id;
    if (!isSame || previous.delta.length + delta.length > limits.maxPieceChars) this.#flush();
    this.#delta = { ...chunk, delta: (this.#delta?.delta ?? "") + delta };
  };

  /** Joins the deltas that `work` emits until it waits, and those that it emits afterwards. */
  during(work: () => void | Promise<void>): void | Promise<void> {
    this.#isJoining = true;
    let working: void | Promise<void> = undefined;
    try {
      working = work();
    } finally {
      this.#flush();
      this.#isJoining = working !== undefined;
    }
    return working?.finally(() => {
      this.#isJoining = false;
      this.#flush();
    });
  }

  #flush(): void {
    const delta = this.#delta;
    this.#delta = undefined;
    if (delta !== undefined) this.#emit(delta);
  }
}
