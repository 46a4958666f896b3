import {
  ABSENT,
  agrees,
  type Answer,
  expiryIn,
  type Operation,
  type Seen,
  type State,
  stateKey,
  statesAfter,
} from "./model.ts";
import { keyOf } from "./values.ts";

/** What a conversation looks like to a reader after a restart. */
export interface Look {
  /** Status of `GET /conversations/:id`. */
  readonly status: number;
  /** Every variable that the model knows or the list contains. */
  readonly variables: ReadonlyMap<string, Seen>;
}

/** The operations of a conversation since the last look, and the states that they allow. */
export class ConversationModel {
  readonly id: string;
  readonly #states = new Map<string, readonly State[]>();
  readonly #operations = new Map<string, Operation[]>();
  /** Resets and deletions of the conversation, which apply to every name. */
  #wide: Operation[] = [];
  /** Writes whose chosen name no client received, with the base of the name. */
  #unnamed: { readonly base: string; readonly operation: Operation }[] = [];
  readonly #newNames = new Map<string, number>();
  #endTriedMs = -Infinity;
  #isFresh = true;

  constructor(id: string) {
    this.id = id;
  }

  get names(): readonly string[] {
    return [...new Set([...this.#states.keys(), ...this.#operations.keys()])];
  }

  add(name: string, operation: Operation): undefined {
    const known = this.#operations.get(name);
    if (known === undefined) this.#operations.set(name, [operation]);
    else known.push(operation);
  }

  addWide(operation: Operation): void {
    this.#wide.push(operation);
    if (operation.kind === "end") this.#endTriedMs = operation.latestMs;
  }

  /** True if the conversation was or may have been deleted between the two times. */
  mayEndDuring(fromMs: number, toMs: number): boolean {
    return this.#wide.some(
      ({ kind, startMs, endMs, answer }) =>
        kind === "end" && (answer?.status ?? 204) === 204 && startMs <= toMs && fromMs <= endMs,
    );
  }

  /** Adds a write whose name the server chooses. Returns the problem with that name, if any. */
  addNew(base: string, operation: Operation & { kind: "put" }): string | undefined {
    const name = operation.answer?.info?.name;
    if (name === undefined) {
      if (operation.answer === undefined) this.#unnamed.push({ base, operation });
      return undefined;
    }
    const usedMs = this.#newNames.get(name);
    this.#newNames.set(name, operation.startMs);
    this.add(name, operation);
    const isUsedAgain = usedMs !== undefined && this.#endTriedMs < usedMs;
    return isUsedAgain ? `${name} was given twice` : undefined;
  }

  /**
   * Returns what no order of the operations explains. If there is nothing, takes what was seen as the new
   * state.
   */
  settle(look: Look): readonly string[] {
    this.#nameUnnamed(look);
    const wrong = [...this.#wrongAboutExistence(look)];
    const explanations = subsets(this.#wide.filter(({ answer }) => answer === undefined)).map(
      (happened) => this.#explain(look, happened),
    );
    const best = explanations.toSorted((one, other) => one.wrong.length - other.wrong.length)[0];
    wrong.push(...(best?.wrong ?? []));
    if (best === undefined || wrong.length > 0) return wrong;
    this.#states.clear();
    for (const [name, states] of best.states) this.#states.set(name, states);
    this.#operations.clear();
    this.#wide = [];
    this.#unnamed = [];
    this.#isFresh = look.status === 404;
    return [];
  }

  /** Matches writes of unknown name with variables that no other operation explains. */
  #nameUnnamed(look: Look): void {
    for (const [name, seen] of look.variables) {
      const explains = (more: readonly Operation[]) => {
        const operations = [...(this.#operations.get(name) ?? []), ...this.#wide, ...more];
        const states = statesAfter(name, this.#states.get(name) ?? [ABSENT], operations);
        return states.some((state) => agrees(state, seen));
      };
      if (explains([])) continue;
      const place = this.#unnamed.findIndex(
        ({ base, operation }) => name.startsWith(`${base}_`) && explains([operation]),
      );
      const [found] = place < 0 ? [] : this.#unnamed.splice(place, 1);
      if (found === undefined) continue;
      this.add(name, found.operation);
      this.#newNames.set(name, found.operation.startMs);
    }
  }

  #wrongAboutExistence({ status }: Look): readonly string[] {
    if (status !== 200 && status !== 404) return [`${this.id} answers ${status}`];
    const puts = [...this.#operations.values(), this.#unnamed.map(({ operation }) => operation)]
      .flat()
      .filter(({ kind }) => kind === "put");
    const ends = this.#wide.filter(({ kind, answer }) => kind === "end" && answer?.status === 204);
    // A put that overlaps the deletion may have run after it.
    const lastEnd = ends.find((end) => puts.every(({ latestMs }) => latestMs < end.startMs));
    const mayBeThere = lastEnd === undefined && !(this.#isFresh && puts.length === 0);
    return status === 200 && !mayBeThere ? [`${this.id} was deleted, and is there`] : [];
  }

  #explain(look: Look, happened: readonly Operation[]): Explanation {
    const wide = this.#wide.flatMap((operation) => {
      if (operation.answer !== undefined) return [operation];
      if (!happened.includes(operation)) return [];
      // A deletion applies to every name. An unanswered reset may have deleted any of them.
      return operation.kind === "end" ? [{ ...operation, answer: DONE }] : [operation];
    });
    const states = new Map<string, readonly State[]>();
    const wrong: string[] = [];
    for (const [name, seen] of look.variables) {
      if (seen.status === 200 && seen.info === undefined) wrong.push(`${name} is not in the list`);
      const initial = this.#states.get(name) ?? [ABSENT];
      const operations = [...(this.#operations.get(name) ?? []), ...wide];
      const possible = statesAfter(name, initial, operations);
      const found = possible.filter((state) => agrees(state, seen));
      if (found.length === 0) {
        wrong.push(
          describeWrong({ name: `${this.id}/${name}`, initial, operations, possible, seen }),
        );
      }
      states.set(
        name,
        found.map((state) => withSeen(state, seen)),
      );
    }
    for (const reset of happened) wrong.push(...this.#wrongAboutReset(reset, look));
    return { states, wrong };
  }

  /** Checks that a reset left at most what it keeps, plus the puts that ended after it began. */
  #wrongAboutReset(reset: Operation, { variables }: Look): readonly string[] {
    if (reset.kind !== "reset") return [];
    const left = [...variables.values()].filter(({ status }) => status === 200).length;
    const beside = [...this.#operations.values()]
      .flat()
      .filter(({ kind, endMs }) => kind === "put" && endMs >= reset.startMs).length;
    const isWhole = left <= reset.keepLast + beside;
    return isWhole
      ? []
      : [`${this.id}: half of a reset that keeps ${reset.keepLast}: ${left} left`];
  }
}

interface Explanation {
  readonly states: ReadonlyMap<string, readonly State[]>;
  readonly wrong: readonly string[];
}

const DONE: Answer = { status: 204 };

/** Adds what the reader saw to the state. */
function withSeen(state: State, { status, info, fromMs }: Seen): State {
  if (state.kind === "absent") return state;
  if (status === 410) return { ...state, expires: { fromMs: -Infinity, toMs: fromMs } };
  if (info === undefined) return state;
  const { expires: _, ...rest } = state;
  return { ...rest, info, ...expiryIn(info) };
}

function subsets<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const [first, ...others] = items;
  if (first === undefined) return [[]];
  return subsets(others).flatMap((subset) => [subset, [first, ...subset]]);
}

interface Wrong {
  readonly name: string;
  readonly initial: readonly State[];
  readonly operations: readonly Operation[];
  readonly possible: readonly State[];
  readonly seen: Seen;
}

function describeWrong({ name, initial, operations, possible, seen }: Wrong): string {
  const lines = [
    `${name}: nothing explains what is seen: ${JSON.stringify(seen)}`,
    ...initial.map((state) => `  before: ${stateKey(state)}`),
    ...operations
      .toSorted((one, other) => one.startMs - other.startMs)
      .map((operation) => `  ${describeOperation(operation)}`),
    ...possible.map((state) => `  may be: ${stateKey(state)}`),
  ];
  return lines.join("\n");
}

function describeOperation(operation: Operation): string {
  const { kind, startMs, endMs } = operation;
  const what =
    kind === "put"
      ? `${operation.mode} ${keyOf({ kind: operation.piece.kind, pieces: [operation.piece] })} ttl ${operation.ttlMs ?? "-"}`
      : "";
  const answer = operation.answer === undefined ? "no answer" : JSON.stringify(operation.answer);
  return `${startMs}..${endMs} ${kind} ${what}: ${answer.slice(0, 600)}`;
}
