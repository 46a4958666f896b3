import type { Effects } from "../../../src/byref.ts";
import type { Random } from "../random.ts";

/** The tools of the test's agent. */
export const TOOLS = {
  look_up: { effects: "none", needsApproval: false },
  report: { effects: "none", needsApproval: false },
  charge: { effects: "idempotent", needsApproval: false },
  send: { effects: "once", needsApproval: false },
  confirm: { effects: "once", needsApproval: true },
} as const satisfies Record<string, { effects: Effects; needsApproval: boolean }>;

export type ToolName = keyof typeof TOOLS;

/** How an answer of the model fails. */
export type Fault = "429" | "500" | "cut" | "garbled" | "stalled";

interface Step {
  /** `{report}` stands for the variable that the tool's result was saved as. */
  readonly text: string;
  /** Called in parallel. */
  readonly calls: readonly ToolName[];
}

/** What the model does in a turn. Turns of the same shape get the same answer. */
export interface Script {
  /** Identifies the turn in everything that it leaves behind: letters and digits. */
  readonly marker: string;
  readonly shape: string;
  readonly steps: readonly Step[];
  readonly deltaMs: number;
  /** How long each tool works. */
  readonly toolMs: number;
  readonly approves: boolean;
  /** Faults of the first tries of a step, by step. */
  readonly faults: ReadonlyMap<number, readonly Fault[]>;
}

/** The position of a call in its turn. */
interface CallPlace {
  readonly step: number;
  readonly index: number;
}

const LONG_TEXT = Array.from({ length: 60 }, (_, word) => `word${word}`).join(" ");

const calls = (text: string, ...names: readonly ToolName[]): Step => ({ text, calls: names });
const says = (text: string): Step => ({ text, calls: [] });

export const SHAPES: Readonly<Record<string, readonly Step[]>> = {
  plain: [says(LONG_TEXT)],
  read: [calls("I look it up.", "look_up"), says(`It is so: {look_up}.said, indeed. ${LONG_TEXT}`)],
  charge: [calls("", "charge"), says("It is paid.")],
  send: [calls("I send it.", "send"), says("That was sent, or perhaps not.")],
  sequence: [
    calls("First.", "look_up"),
    calls("Second.", "charge"),
    calls("", "send"),
    says("All three are done, one after the other."),
  ],
  parallel: [calls("All at once.", "look_up", "charge", "send"), says("All three are done.")],
  large: [calls("It is large.", "report"), says("Its title is {report}.title and no other.")],
  mixed: [
    calls("Pay and send.", "charge", "send"),
    calls("", "report", "send"),
    says(`Done. {report}.title ${LONG_TEXT}`),
  ],
  long: [
    calls("One.", "charge"),
    calls("Two.", "send"),
    calls("Three.", "look_up"),
    calls("Four.", "charge", "charge"),
    calls("Five.", "send", "send"),
    says("Six steps, and {look_up}.said."),
  ],
  approval: [calls("May I?", "confirm"), says("Thank you for deciding.")],
  denied: [calls("May I really?", "confirm", "look_up"), says("Thank you all the same.")],
};

export function scriptFrom(random: Random, marker: string, options: Partial<Script> = {}): Script {
  const shape = options.shape ?? random.one(Object.keys(SHAPES));
  const steps = SHAPES[shape] ?? [];
  return {
    marker,
    shape,
    steps,
    deltaMs: random.between(2, 12),
    toolMs: random.chance(0.15) ? random.between(200, 600) : random.between(0, 60),
    approves: shape !== "denied",
    faults: new Map(),
    ...options,
  };
}

/** Returns one fault at a random step. */
export function faultsFrom(random: Random, shape: string, stalls: boolean): Script["faults"] {
  const step = random.between(0, (SHAPES[shape]?.length ?? 1) - 1);
  const kinds: readonly Fault[] = ["429", "500", "cut", "garbled"];
  return new Map([[step, [stalls ? "stalled" : random.one(kinds)]]]);
}

export function callId(marker: string, { step, index }: CallPlace): string {
  return `call_${marker}_${step}_${index}`;
}

/** Parses a call id. */
export function placeOf(id: string): (CallPlace & { readonly marker: string }) | undefined {
  const [, marker, step, index] = /^call_([a-z0-9]+)_(\d+)_(\d+)$/.exec(id) ?? [];
  if (marker === undefined) return undefined;
  return { marker, step: Number(step), index: Number(index) };
}

export function questionOf({ marker }: Pick<Script, "marker">) {
  const text = `Please do turn ${marker} now.`;
  return { id: `question-${marker}`, role: "user", parts: [{ type: "text", text }] };
}

/** Returns the marker of the turn that a text asks for. */
export function markerIn(text: string): string | undefined {
  return [...text.matchAll(/Please do turn ([a-z0-9]+) now\./g)].at(-1)?.[1];
}
