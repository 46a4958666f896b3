import type { UIMessageChunk } from "ai";
import * as limits from "../limits.ts";
import { type Figure, figuresBeyond, figuresIn } from "../value/figures.ts";
import { clip } from "../value/characters.ts";

/** Stands for a value in what the model typed. */
const VALUE = "\uFFFC";
/** Figures that the model is reminded of. */
const MAX_LISTED = 20;
const MAX_LISTED_CHARS = 40;

/** Follows the instructions of an agent whose figures are referenced. */
export const FIGURES_GUIDE =
  "Write each number in an answer as a reference to the value that has it. An answer with a typed number of two or more digits is refused, unless the question has that number.";

/**
 * Holds back what a model's step shows until its figures are checked. The text that the model typed is the
 * text that is shown without the values.
 */
export class HeldStep {
  readonly #question: string;
  readonly #emit: (chunk: UIMessageChunk) => void;
  /** Undefined while nothing is held back. */
  #chunks: UIMessageChunk[] | undefined;
  /** Typed text by the id of its part. */
  #typed = new Map<string, string>();
  /** Characters of values that are shown next, by the id of the part. */
  #values = new Map<string, number>();

  /** `question`: its figures may be typed. */
  constructor(question: string, emit: (chunk: UIMessageChunk) => void) {
    this.#question = question;
    this.#emit = emit;
  }

  get isHolding(): boolean {
    return this.#chunks !== undefined;
  }

  /** Holds chunks back from now on, and forgets those that it holds. */
  begin(): void {
    this.#chunks = [];
    this.#typed.clear();
    this.#values.clear();
  }

  /** Emits a chunk, or holds it back. */
  write(chunk: UIMessageChunk): void {
    if (this.#chunks === undefined) return this.#emit(chunk);
    this.#chunks.push(chunk);
    if (chunk.type !== "text-delta") return;
    const { id, delta } = chunk;
    const ofValues = Math.min(this.#values.get(id) ?? 0, delta.length);
    this.#values.set(id, (this.#values.get(id) ?? 0) - ofValues);
    this.#add(id, delta.slice(ofValues));
  }

  /** Notes that the next characters of a text are a value's. */
  place(id: string, chars: number): void {
    if (!this.isHolding) return;
    this.#values.set(id, (this.#values.get(id) ?? 0) + chars);
    this.#add(id, VALUE);
  }

  /** The figures that the model typed, if they are more than it may. */
  get refused(): readonly Figure[] {
    const figures = [...this.#typed.values()].flatMap((text) => figuresIn(text));
    const typed = figuresBeyond(figures, this.#question);
    return typed.length > limits.maxTypedFigures ? typed : [];
  }

  /** Emits what was held back. Further chunks are emitted at once. */
  release(): void {
    const chunks = this.#chunks ?? [];
    this.#chunks = undefined;
    for (const chunk of chunks) this.#emit(chunk);
  }

  #add(id: string, text: string): void {
    this.#typed.set(id, (this.#typed.get(id) ?? "") + text);
  }
}

/** Tells the model why its answer was not shown. */
export function refusalOf(figures: readonly Figure[]): string {
  const listed = figures.slice(0, MAX_LISTED).map(({ text }) => clip(text, MAX_LISTED_CHARS));
  const more = figures.length > MAX_LISTED ? ` and ${figures.length - MAX_LISTED} more` : "";
  return `Your answer was not shown, because it has typed numbers: ${listed.join("; ")}${more}. Answer again: write each number as a reference to the value that has it, or leave it out. If no variable has it, call a tool that returns it.`;
}
