import * as limits from "../../limits.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { Variables } from "../../store/variable-store.ts";
import { compact, isScalar, type Json } from "../../value/json.ts";
import type { Path, Segment } from "../../value/path.ts";
import { Breaks, nextTask } from "../../value/next-task.ts";
import { Work } from "../../value/work.ts";
import { charsOf, MAX_COUNT, runtimeTool } from "../runtime-tool.ts";
import { type Matcher, matcherFor } from "./search-json.ts";
import {
  type Hit,
  hitsIn,
  hitsUnder,
  type JsonSearch,
  nearestReference,
  searchText,
} from "./search-json.ts";
import { childrenOf, type Part, partAt, type Sequence, valueAt } from "./sequence.ts";
import {
  inspect,
  nameOf,
  readable,
  referenceTo,
  type Target,
  targetIn,
} from "./variable-target.ts";

export interface SearchOptions {
  /** Work limit of one call, about twice the number of characters to search. */
  readonly maxWork?: number;
}

const DEFAULT_HITS = 10;

const inputSchema = z.object({
  name: z.string(),
  query: z.string(),
  path: z.string().optional(),
  match_case: z.boolean().optional(),
  top_k: z.int().min(1).max(limits.maxShownItems).optional(),
  offset: z.int().min(0).max(MAX_COUNT).optional(),
});

export function searchVariable({ maxWork = limits.maxReadWork }: SearchOptions = {}) {
  return runtimeTool({
    name: "search_variable",
    description: "Search a variable or part. `next` goes on.",
    offeredFrom: "text",
    unlisted: ["path", "match_case", "top_k"],
    inputSchema,
    async execute(input, { store }) {
      const target = targetIn(input.name, input.path);
      const info = readable(store, target.name);
      if (info.type === "bytes") {
        throw new ByrefError("bad_value", `$${info.name} is bytes, and has no text.`);
      }
      const matcher = matcherFor(input.query, {
        matchCase: input.match_case === true,
      });
      const { query, match_case, top_k } = input;
      const repeated = compact({ name: nameOf(target), query, match_case, top_k });
      const findings = new Findings(repeated, { target, maxHits: top_k ?? DEFAULT_HITS });
      const search: Search = { target, matcher, findings, maxWork, offset: input.offset ?? 0 };
      await inspect(info, target, () => run(store, search));
      return { output: findings.output(), untrusted: !info.trusted };
    },
  });
}

interface Search {
  readonly target: Target;
  readonly matcher: Matcher;
  readonly findings: Findings;
  readonly maxWork: number;
  readonly offset: number;
}

/** Searches a path with `[*]` element by element, so that each match has a path of its own. */
async function run(store: Variables, search: Search): Promise<void> {
  const { name, path } = search.target;
  const at = path.findIndex((segment) => "each" in segment);
  const base = at < 0 ? path : path.slice(0, at);
  const part = await partAt(store, { name, path: base });
  const isText = "sequence" in part && part.sequence.type === "string";
  // A text has no elements: this throws the error for that.
  if (isText && at >= 0) await valueAt(store, search.target);
  if (isText) return runOnText(search, part.sequence);
  const rest = at < 0 ? undefined : path.slice(at + 1);
  return runOnJson(search, part, { base, rest });
}

async function runOnText(search: Search, sequence: Sequence): Promise<void> {
  const { target, matcher, findings, maxWork, offset } = search;
  const referenceTo = (from: number, to: number) =>
    nearestReference(target.name, sequence.pathOfSlice(from, to));
  const breaks = new Breaks();
  for await (const found of searchText({ sequence, matcher, referenceTo }, offset)) {
    if ("reference" in found) findings.addAlone(found, found.next);
    else if (matcher.work + found.next - offset > maxWork && found.next < sequence.count) {
      findings.stop(found.next, `before character ${found.next} of ${sequence.count}`);
      return;
    }
    if (breaks.areDue(found.next - offset)) await nextTask();
  }
}

interface SearchPaths {
  /** The path of the array or object. */
  readonly base: Path;
  /** The path to search below each element; undefined: all of the element, keys included. */
  readonly rest: Path | undefined;
}

async function runOnJson(search: Search, part: Part, { base, rest }: SearchPaths): Promise<void> {
  const { target, matcher, findings, maxWork, offset } = search;
  const charsOfOne = "sequence" in part ? part.sequence.averageChars : 1;
  let unit = offset;
  const work = () => matcher.work + (unit - offset) * charsOfOne;
  const isOver = () => work() > maxWork;
  const breaks = new Breaks();
  const json: JsonSearch = {
    name: target.name,
    matcher,
    rest: rest ?? [],
    isOver,
    work: new Work(),
  };
  if ("value" in part && isScalar(part.value)) {
    return findings.addUnit(firstOf(hitsIn(json, base, part.value)), { unit, base });
  }
  const pathOf = await pathsIn(part, base);
  for await (const { path: step, value } of childrenOf(part, offset)) {
    const path = pathOf(step);
    const found = rest === undefined ? hitsUnder(json, path, value) : hitsIn(json, path, value);
    const hits = firstOf(found);
    // A unit that was searched only in part is searched again, unless it alone exceeds the limit.
    if (isOver() && unit > offset) return findings.stop(unit, `before ${unit}`);
    findings.addUnit(hits, { unit, base: path });
    if (isOver()) {
      const place = nearestReference(target.name, path);
      return findings.stop(unit + 1, `in ${place}, which is too large: search a part of it`);
    }
    unit++;
    if (breaks.areDue(work())) await nextTask();
  }
}

/** Returns the path of each element or key in the variable. Elements of a slice are offset by its start. */
async function pathsIn(part: Part, base: Path): Promise<(step: Segment) => Path> {
  if ("value" in part) return (step) => [...base, step];
  const start = await part.sequence.pathOf(0);
  const first = start.at(-1);
  const shift = first !== undefined && "index" in first ? first.index : 0;
  const above = start.slice(0, -1);
  return (step) => [...above, "index" in step ? { index: step.index + shift } : step];
}

interface Hits {
  readonly first: readonly Hit[];
  readonly count: number;
}

/** Collects the first matches and counts the others. */
function firstOf(hits: Iterable<Hit>): Hits {
  const first: Hit[] = [];
  let count = 0;
  for (const hit of hits) if (count++ < limits.maxShownItems) first.push(hit);
  return { first, count };
}

interface Unit {
  /** Its number, from which a search can continue. */
  readonly unit: number;
  readonly base: Path;
}

/** Collects matches in an output of limited size, with the position at which to continue. */
class Findings {
  readonly #hits: Hit[] = [];
  readonly #call: Readonly<Record<string, Json>>;
  readonly #target: Target;
  readonly #maxHits: number;
  #charsLeft: number;
  #total = 0;
  #next: number | undefined;
  #stopped: string | undefined;
  #more: string | undefined;
  /** True if a match was found that is not shown. */
  #isFull = false;
  /** Position after the shown matches, where the next search continues. */
  #last: number | undefined;

  constructor(
    call: Readonly<Record<string, Json>>,
    { target, maxHits }: { readonly target: Target; readonly maxHits: number },
  ) {
    this.#call = call;
    this.#target = target;
    this.#maxHits = maxHits;
    this.#charsLeft =
      limits.maxVariableOutputChars - charsOf({ ...this.output(), next: call }) - RESERVED_CHARS;
  }

  /** Adds a match after which the search can continue at `next`. */
  addAlone(hit: Hit, next: number): void {
    this.#total++;
    if (this.#isFull) return;
    if (this.#add(hit)) this.#last = next;
    else this.#isFull = true;
  }

  /** Adds all matches of one element or none, unless it is the first element. */
  addUnit({ first, count }: Hits, { unit, base }: Unit): void {
    this.#total += count;
    if (this.#isFull || count === 0) return;
    const before = this.#hits.length;
    const isWhole = first.every((hit) => this.#add(hit)) && first.length === count;
    if (isWhole) return;
    this.#isFull = true;
    if (before > 0) {
      this.#hits.length = before;
      this.#next = unit;
      return;
    }
    this.#next = unit + 1;
    const place = nearestReference(this.#target.name, base);
    this.#more = `${place} has ${count - this.#hits.length} more: search there, or for less.`;
  }

  stop(next: number, why: string): void {
    this.#stopped = why;
    this.#next ??= this.#isFull ? this.#last : next;
  }

  output(): Record<string, Json> {
    const isAll = this.#stopped === undefined && this.#total === this.#hits.length;
    const next = this.#next ?? this.#last;
    return compact({
      reference: referenceTo(this.#target),
      matches: this.#hits.map(({ reference, excerpt }) => ({ reference, excerpt })),
      ...(this.#stopped === undefined
        ? { total: this.#total }
        : { found: this.#total, stopped: this.#stopped }),
      more: this.#more,
      next: isAll || next === undefined ? undefined : { ...this.#call, offset: next },
    });
  }

  #add(hit: Hit): boolean {
    const chars = charsOf({ reference: hit.reference, excerpt: hit.excerpt }) + 1;
    if (this.#hits.length >= this.#maxHits || chars > this.#charsLeft) return false;
    this.#charsLeft -= chars;
    this.#hits.push(hit);
    return true;
  }
}

/** Reserved for facts about the search: numbers, the reason why it stopped, and one reference. */
const RESERVED_CHARS = 900;
