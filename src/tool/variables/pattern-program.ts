import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { type CharacterTest, LINE_FEED, type Pattern } from "./pattern-syntax.ts";

type Step =
  | { readonly kind: "character"; readonly test: CharacterTest; readonly next: number }
  | { readonly kind: "lineStart" | "lineEnd"; readonly next: number }
  | { readonly kind: "fork"; readonly to: number[] }
  | { readonly kind: "match" };

/** Maximum of cached states. Above it, the cache is cleared. */
const MAX_STATES = 500;
const MAX_TRANSITIONS = 20_000;
const END = -1;
/** Cost of examining a place, as a multiple of following a known step. */
const PLACE_WORK = 8;

/** All places in the program at which a match may be at the same time. */
interface State {
  readonly places: readonly number[];
  readonly isLineStart: boolean;
  readonly next: Map<number, State>;
  /** True if a match ends here, by kind of the next character (END included). */
  matches?: boolean;
  matchesAtLineEnd?: boolean;
}

/** How a pattern is compiled. Read backwards, it finds where a match begins. */
export interface ProgramOptions {
  readonly backwards: boolean;
  /** True if a match may begin anywhere. */
  readonly floating: boolean;
}

/**
 * Matches a pattern character by character, at all its places at once, without backtracking. Cost: linear in
 * the text; per character at most linear in the pattern's size.
 */
export class Program {
  readonly #steps: Step[] = [];
  readonly #options: ProgramOptions;
  readonly #first: number;
  #states = new Map<string, State>();
  #transitions = 0;
  #compiled = 0;
  /** Work so far: one unit per character, and one per place examined. */
  work = 0;

  constructor(pattern: Pattern, options: ProgramOptions) {
    this.#options = options;
    const match = this.#add({ kind: "match" });
    this.#first = this.#compile(pattern, match);
  }

  /** The state before the first character, at a line's start or not. */
  start(isLineStart: boolean): State {
    return this.#state(
      this.#closure([this.#first], { isLineStart, isLineEnd: false }),
      isLineStart,
    );
  }

  /** The state after the character. */
  step(state: State, code: number): State {
    this.work++;
    const known = state.next.get(code);
    if (known !== undefined) return known;
    const isLineEnd = code === LINE_FEED;
    const here = isLineEnd
      ? this.#closure(state.places, { isLineStart: state.isLineStart, isLineEnd })
      : state.places;
    const reached: number[] = [];
    for (const place of here) {
      const step = this.#steps[place];
      if (step?.kind === "character" && step.test(code)) reached.push(step.next);
    }
    if (this.#options.floating) reached.push(this.#first);
    // A line ends and begins at the same character.
    const isLineStart = isLineEnd;
    const next = this.#state(
      this.#closure(reached, { isLineStart, isLineEnd: false }),
      isLineStart,
    );
    if (this.#transitions++ >= MAX_TRANSITIONS) this.#forget();
    state.next.set(code, next);
    return next;
  }

  /** True if a match ends here, before the next character. */
  isMatch(state: State, nextCode: number | undefined): boolean {
    const isLineEnd = (nextCode ?? END) === END || nextCode === LINE_FEED;
    state.matches ??= this.#hasMatch(state.places);
    if (state.matches || !isLineEnd) return state.matches;
    state.matchesAtLineEnd ??= this.#hasMatch(
      this.#closure(state.places, { isLineStart: state.isLineStart, isLineEnd }),
    );
    return state.matchesAtLineEnd;
  }

  /** True if no match is possible any more. */
  isOver(state: State): boolean {
    return state.places.length === 0;
  }

  #hasMatch(places: readonly number[]): boolean {
    return places.some((place) => this.#steps[place]?.kind === "match");
  }

  #add(step: Step): number {
    if (this.#steps.length >= limits.maxPatternSteps) throw tooLarge();
    return this.#steps.push(step) - 1;
  }

  /**
   * Compiles from the end to the start. Returns the place where the pattern begins, if it continues at
   * `next`.
   */
  #compile(pattern: Pattern, next: number): number {
    // Counts parts without a step, too: an empty group that repeats many times takes time.
    this.#compiled++;
    if (this.#compiled > limits.maxPatternParts) throw tooLarge();
    if (pattern.kind === "character") {
      return this.#add({ kind: "character", test: pattern.test, next });
    }
    if (pattern.kind === "sequence") {
      const { backwards } = this.#options;
      const parts = backwards ? pattern.parts : pattern.parts.toReversed();
      return parts.reduce((after, part) => this.#compile(part, after), next);
    }
    if (pattern.kind === "choice") {
      return this.#add({
        kind: "fork",
        to: pattern.parts.map((part) => this.#compile(part, next)),
      });
    }
    if (pattern.kind === "repeat") return this.#repeat(pattern, next);
    const isStart = (pattern.kind === "lineStart") !== this.#options.backwards;
    return this.#add({ kind: isStart ? "lineStart" : "lineEnd", next });
  }

  #repeat(pattern: Extract<Pattern, { kind: "repeat" }>, next: number): number {
    const { part, min, max } = pattern;
    let place = next;
    if (max === Infinity) {
      const to = [next];
      place = this.#add({ kind: "fork", to });
      to.push(this.#compile(part, place));
    }
    const optional = max === Infinity ? 0 : max - min;
    for (let count = 0; count < optional; count++) {
      place = this.#add({ kind: "fork", to: [next, this.#compile(part, place)] });
    }
    for (let count = 0; count < min; count++) place = this.#compile(part, place);
    return place;
  }

  /** Returns the places that are reachable without a character. */
  #closure(
    from: readonly number[],
    at: { readonly isLineStart: boolean; readonly isLineEnd: boolean },
  ): number[] {
    const reached = new Set<number>();
    const open = [...from];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      this.work += PLACE_WORK;
      if (reached.has(place)) continue;
      reached.add(place);
      const step = this.#steps[place];
      if (step?.kind === "fork") open.push(...step.to);
      else if (step?.kind === "lineStart" && at.isLineStart) open.push(step.next);
      else if (step?.kind === "lineEnd" && at.isLineEnd) open.push(step.next);
    }
    return [...reached]
      .filter((place) => this.#steps[place]?.kind !== "fork")
      .sort((a, b) => a - b);
  }

  #state(places: readonly number[], isLineStart: boolean): State {
    const key = `${isLineStart}${places.join(",")}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    // States that are removed from the cache stay valid for their holders.
    if (this.#states.size >= MAX_STATES) this.#forget();
    const state: State = { places, isLineStart, next: new Map() };
    this.#states.set(key, state);
    return state;
  }

  #forget(): void {
    for (const state of this.#states.values()) state.next.clear();
    this.#states = new Map();
    this.#transitions = 0;
  }
}

function tooLarge(): ByrefError {
  return new ByrefError("invalid_tool_input", "The pattern is too large: search for less.");
}
