import type { Effects } from "../../../src/byref.ts";

/** The tools of the test's agent. */
export const TOOLS = {
  look_up: { effects: "none", needsApproval: false },
  report: { effects: "none", needsApproval: false },
  charge: { effects: "idempotent", needsApproval: false },
  send: { effects: "once", needsApproval: false },
  confirm: { effects: "once", needsApproval: true },
} as const satisfies Record<string, { effects: Effects; needsApproval: boolean }>;

export type ToolName = keyof typeof TOOLS;

/** What the model does in a turn: it calls the tools of each step in parallel, and then says the text. */
export interface Shape {
  readonly steps: readonly (readonly ToolName[])[];
  /** `{report}` stands for the variable that the tool's result was saved as. */
  readonly text: string;
  /** The text that a person sees. */
  readonly shown: string;
}

/** The calls of a plan, which all run at once and may all run again, so that none may fail. */
export const PLAN: Shape = {
  steps: [Array.from({ length: 25 }, (_, at) => (at % 2 === 0 ? "charge" : "look_up"))],
  text: "",
  shown: "",
};

const LONG_TEXT = Array.from({ length: 60 }, (_, word) => `word${word}`).join(" ");

function shape(steps: Shape["steps"], text: string, shown = text): Shape {
  return { steps, text, shown };
}

export const SHAPES: readonly Shape[] = [
  shape([], LONG_TEXT),
  shape([["look_up"]], "It is so: {look_up}.said, indeed.", "It is so: look_up did, indeed."),
  shape([["look_up"], ["charge"], ["send"]], "All three are done, one after the other."),
  shape([["look_up", "charge", "send"]], "All three are done."),
  shape([["report"]], "Its title is {report}.title.", "Its title is Everything."),
  shape(
    [
      ["charge", "send"],
      ["report", "send"],
      ["charge", "charge"],
    ],
    `Done. ${LONG_TEXT}`,
  ),
  shape([["confirm", "look_up"]], "Thank you for deciding."),
];

/** Identifies a call in everything that it leaves behind. */
export function callId(marker: string, step: number, index: number): string {
  return `${marker}_${step}_${index}`;
}

export function questionOf(marker: string) {
  const text = `Please do turn ${marker} now.`;
  return { id: `question-${marker}`, role: "user", parts: [{ type: "text", text }] };
}

/** Returns the marker of the last turn that a text asks for. */
export function markerIn(text: string): string | undefined {
  return [...text.matchAll(/Please do turn (t\d+) now\./g)].at(-1)?.[1];
}
