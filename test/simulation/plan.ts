import type { Json } from "../../src/value/json.ts";
import type { Random } from "../chaos/random.ts";

/** The agent's tools, by the effects of running them again. Those with `asks` need an approval. */
export const TOOLS = {
  look: { effects: "none", asks: false },
  put: { effects: "idempotent", asks: false },
  send: { effects: "once", asks: false },
  ask_look: { effects: "none", asks: true },
  ask_put: { effects: "idempotent", asks: true },
  ask_send: { effects: "once", asks: true },
} as const;

export type ToolName = keyof typeof TOOLS;
/** Tools of the runtime. */
export const OWN_TOOLS = ["set_variable", "delete_variable", "read_variable"] as const;

/** What a tool returns, at once or in pieces, or does instead. */
export const GIVES = [
  "small",
  "list",
  "large",
  "bytes",
  "text stream",
  "bytes stream",
  "records stream",
  "broken stream",
  "progress",
  "throw",
  "hang",
] as const;
export type Gives = (typeof GIVES)[number];

/** How a call of the model fails: at once, midway, or (`refused`) for good. */
type Fault = "overloaded" | "cut" | "refused";

/** In its inputs and in texts, `{t0s0c1}` stands for the variable that saves that call's result. */
export interface PlannedCall {
  readonly id: string;
  /** The model's id for the call. Other steps may use the same one. */
  readonly sentId: string;
  readonly tool: ToolName | (typeof OWN_TOOLS)[number];
  readonly input: Readonly<Record<string, Json>>;
  /** The user's decision, if the call asks for one. */
  readonly isAllowed: boolean;
}

export interface PlannedStep {
  readonly reasoning?: string;
  readonly hasSource: boolean;
  readonly text?: string;
  /** Characters per delta. */
  readonly deltaChars: number;
  /** Called in parallel. The last step has none. */
  readonly calls: readonly PlannedCall[];
  /** Faults of the first tries; `refused` applies to all tries. */
  readonly faults: readonly Fault[];
  /**
   * True if a call in it reads or deletes what another writes. All are prepared before any runs, but a call
   * that runs again after a crash sees what the others have written by then. This is known and allowed.
   */
  readonly isRaced: boolean;
}

interface PlannedTurn {
  readonly steps: readonly PlannedStep[];
  /** True if the user decides one call at a time. */
  readonly decidesOneByOne: boolean;
}

export type Plan = { readonly turns: readonly PlannedTurn[] };

export const NAMES = ["report", "notes", "state"] as const;

/** Long enough for the log to need more than one row. */
export const LONG_TEXT = "long ".repeat(55_000);

/** Generates a conversation of one or two turns. */
export function planFrom(random: Random): Plan {
  const planner = new Planner(random);
  const turns = random.chance(0.25) ? 2 : 1;
  return { turns: Array.from({ length: turns }, (_, turn) => planner.turn(turn)) };
}

class Planner {
  readonly #random: Random;
  /** Calls whose results can be referred to. */
  readonly #results: string[] = [];
  /** Results saved under one of the names, by call. */
  readonly #named = new Map<string, string>();
  /** True if the model numbers the calls of each answer, as some do. */
  readonly #countsCalls: boolean;

  constructor(random: Random) {
    this.#random = random;
    this.#countsCalls = random.chance(0.2);
  }

  turn(turn: number): PlannedTurn {
    const count = this.#random.between(1, 4);
    const steps = Array.from({ length: count }, (_, step) =>
      this.#step(`t${turn}s${step}`, step === count - 1),
    );
    return { steps, decidesOneByOne: this.#random.chance(0.5) };
  }

  #step(place: string, isLast: boolean): PlannedStep {
    const random = this.#random;
    const calls = isLast ? [] : this.#calls(place, random.weighted({ "1": 3, "2": 4, "3": 3 }));
    const isLong = random.chance(0.005);
    const text = isLong || isLast || random.chance(0.6) ? this.#text() : undefined;
    const isRaced = isRace(calls);
    for (const { id, tool, input } of calls) {
      this.#results.push(id);
      const name = writtenBy({ tool, input });
      if (name !== undefined) this.#named.set(id, name);
    }
    return {
      ...(random.chance(0.2) ? { reasoning: "First this, then that." } : {}),
      hasSource: random.chance(0.1),
      ...(text === undefined ? {} : { text: isLong ? LONG_TEXT + text : text }),
      deltaChars: isLong ? random.between(20_000, 80_000) : random.between(4, 40),
      calls,
      faults: this.#faults(),
      isRaced,
    };
  }

  #faults(): readonly Fault[] {
    const random = this.#random;
    if (random.chance(0.02)) return ["refused"];
    if (random.chance(0.8)) return [];
    return Array.from({ length: random.between(1, 2) }, () =>
      random.one(["overloaded", "cut"] as const),
    );
  }

  #text(): string {
    const random = this.#random;
    const words = ["Here it is", `of ${random.one(NAMES)}: $${random.one(NAMES)}`, "and more"];
    for (let count = random.between(0, 2); count > 0; count--) words.push(this.#reference());
    return `${words.join(" ")}.`;
  }

  #reference(): string {
    const random = this.#random;
    if (this.#results.length === 0 || random.chance(0.2)) return `$${random.one(NAMES)}`;
    const path = random.one(["", ".said", "[0].said", ".missing", ".text"]);
    return `{${random.one(this.#results)}}${path}`;
  }

  /**
   * Generates the calls of a step. With rare exceptions none reads what another writes, since the value would
   * depend on their order.
   */
  #calls(place: string, count: string): readonly PlannedCall[] {
    const random = this.#random;
    const written = random.one(NAMES);
    const others = NAMES.filter((name) => name !== written);
    const deleted = random.chance(0.3);
    return Array.from({ length: Number(count) }, (_, index): PlannedCall => {
      const id = `${place}c${index}`;
      // Repeating a call gives the variable a new version, which another call of the step may read.
      const topic = count === "1" ? `topic ${random.between(1, 3)}` : id;
      const sentId = this.#countsCalls ? `call_${index}` : id;
      const about = { id, sentId, isAllowed: random.chance(0.7) };
      const kind = random.weighted({ agent: 6, set: 3, delete: deleted ? 2 : 0, read: 1 });
      if (kind === "read") {
        return { ...about, tool: "read_variable", input: { name: random.one(others) } };
      }
      if (kind === "delete") return { ...about, tool: "delete_variable", input: { name: written } };
      const reference = this.#referenceBesides(written);
      if (kind === "set")
        return { ...about, tool: "set_variable", input: this.#set(written, reference) };
      const tools = Object.keys(TOOLS) as ToolName[];
      const tool = random.chance(0.15) ? random.one(tools.slice(3)) : random.one(tools.slice(0, 3));
      return { ...about, tool, input: this.#input({ written, reference, about: topic }) };
    });
  }

  #referenceBesides(written: string): string | undefined {
    if (this.#random.chance(0.5)) return undefined;
    if (this.#random.chance(0.03)) return `$${written}`;
    const reference = this.#reference();
    const id = /\{(\w+)\}/.exec(reference)?.[1] ?? "";
    const isWritten = reference.startsWith(`$${written}`) || this.#named.get(id) === written;
    return isWritten ? undefined : reference;
  }

  #set(name: string, reference: string | undefined): Record<string, Json> {
    const random = this.#random;
    const mode = random.weighted({ replace: 2, append: 3, merge: 1 });
    const item = reference ?? `item ${random.between(1, 9)}`;
    const value = mode === "merge" ? { [`key${random.between(1, 3)}`]: item } : [item];
    return { name, value, mode };
  }

  #input({ written, reference, about }: Wanted): Record<string, Json> {
    const random = this.#random;
    const gives = random.weighted<Gives>({
      small: 8,
      list: 3,
      large: 1,
      bytes: 2,
      "text stream": 1,
      "bytes stream": 1,
      "records stream": 1,
      "broken stream": 0.5,
      progress: 1,
      throw: 1.5,
      hang: 0.3,
    });
    return {
      gives,
      about,
      ...(reference === undefined ? {} : { of: reference }),
      ...(random.chance(0.2) ? { _outputPath: `$${written}` } : {}),
    };
  }
}

function isRace(calls: readonly PlannedCall[]): boolean {
  return calls.some(({ id, tool, input }) => {
    const name = tool === "delete_variable" ? input.name : writtenBy({ tool, input });
    const others = calls.filter((other) => other.id !== id);
    return typeof name === "string" && others.some((other) => needs(other, name));
  });
}

function writtenBy({ tool, input }: Pick<PlannedCall, "tool" | "input">): string | undefined {
  const name = tool === "set_variable" ? input.name : input._outputPath;
  return typeof name === "string" ? name.replace("$", "") : undefined;
}

function needs({ tool, input }: PlannedCall, name: string): boolean {
  if (tool === "delete_variable" || tool === "read_variable") return input.name === name;
  const { _outputPath: _, name: __, ...read } = input;
  return JSON.stringify(read).includes(`$${name}`);
}

interface Wanted {
  readonly written: string;
  readonly reference: string | undefined;
  readonly about: string;
}
