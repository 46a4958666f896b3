import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { type CharacterTest, LINE_FEED, type Pattern } from "./pattern-syntax.ts";

type Step =
  | { readonly kind: "character"; readonly test: CharacterTest; readonly next: number }
  | { readonly kind: "lineStart" | "lineEnd"; readonly next: number }
  | { readonly kind: "fork"; readonly to: number[] }
  | { readonly kind: "match" };

/** States that are remembered; when there are more, they are made anew. */
const MAX_STATES = 500;
const MAX_TRANSITIONS = 20_000;
const END = -1;
/** To look at a place costs so many times what it costs to follow a known step. */
const PLACE_WORK = 8;

/** All places in the program at which a match may be at the same time. */
interface State {
  readonly places: readonly number[];
  readonly isLineStart: boolean;
  readonly next: Map<number, State>;
  /** A match ends here if the next character (END included) is such. */
  matches?: boolean;
  matchesAtLineEnd?: boolean;
}

/** What happens to a pattern before it is run: read from its end, it finds where a match begins. */
export interface ProgramOptions {
  readonly backwards: boolean;
  /** A match may begin anywhere. */
  readonly floating: boolean;
}

/**
 * A pattern that is matched character by character, at all its places at once: it never goes back. Cost:
 * linear in the text; of a character at most that of the pattern's size.
 */
export class Program {
  readonly #steps: Step[] = [];
  readonly #options: ProgramOptions;
  readonly #first: number;
  #states = new Map<string, State>();
  #transitions = 0;
  #compiled = 0;
  /** What was done so far: one for each character, and one for each place that had to be looked at. */
  work = 0;

  constructor(pattern: Pattern, options: ProgramOptions) {
    this.#options = options;
    const match = this.#add({ kind: "match" });
    this.#first = this.#compile(pattern, match);
  }

  /** Before anything is read; at a line's start or not. */
  start(isLineStart: boolean): State {
    return this.#state(
      this.#closure([this.#first], { isLineStart, isLineEnd: false }),
      isLineStart,
    );
  }

  /** Behind the character. */
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

  /** Does a match end here, before this character? */
  isMatch(state: State, nextCode: number | undefined): boolean {
    const isLineEnd = (nextCode ?? END) === END || nextCode === LINE_FEED;
    state.matches ??= this.#hasMatch(state.places);
    if (state.matches || !isLineEnd) return state.matches;
    state.matchesAtLineEnd ??= this.#hasMatch(
      this.#closure(state.places, { isLineStart: state.isLineStart, isLineEnd }),
    );
    return state.matchesAtLineEnd;
  }

  /** Nothing can match any more. */
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

  /** From the end to the start: the place where the pattern begins, when it goes on at `next`. */
  #compile(pattern: Pattern, next: number): number {
    // Also what adds no step takes its time: an empty group, many times repeated.
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

  /** The places that are reached without a character. */
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
    // Those who hold a forgotten state can still use it.
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
