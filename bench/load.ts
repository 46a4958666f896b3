/** The answer that a question of a bench requests from the model. */
export interface Load {
  readonly deltas: number;
  /** Milliseconds between two deltas. */
  readonly gapMs: number;
  /** Identifies the answer: each delta contains it, with its number. Default: the same word in all. */
  readonly word?: string;
  /** Number of tool calls before the answer. Default: none. */
  readonly calls?: number;
  /** The tool that is called. Without one, the agent has no tools. */
  readonly tool?: string;
  /** True for one call in each step. Default: all calls in one step. */
  readonly isSerial?: boolean;
}

export function questionFor(load: Load): string {
  const { deltas, gapMs, word, calls = 0, tool, isSerial = false } = load;
  const more = [
    ...(word === undefined ? [] : [`word=${word}`]),
    ...(tool === undefined ? [] : [`tool=${tool}`]),
    ...(isSerial ? ["serial=1"] : []),
  ];
  return [`deltas=${deltas} gap=${gapMs} calls=${calls}`, ...more].join(" ");
}

/** Parses the load in any text that contains it. */
export function loadIn(text: string): Load {
  const [question = ""] = /deltas=[^"\\\n]*/u.exec(text) ?? [];
  const written = question.split(" ").map((field) => field.split("="));
  const fields = new Map(written.map(([name = "", value = ""]) => [name, value]));
  const [word, tool] = ["word", "tool"].map((field) => fields.get(field));
  return {
    deltas: Number(fields.get("deltas") ?? 1),
    gapMs: Number(fields.get("gap") ?? 0),
    calls: Number(fields.get("calls") ?? 0),
    isSerial: fields.has("serial"),
    ...(word === undefined ? {} : { word }),
    ...(tool === undefined ? {} : { tool }),
  };
}

export function deltaOf({ word }: Load, index: number): string {
  return word === undefined ? "word " : `${word}.${index} `;
}

export function answerTo(load: Load): string {
  return Array.from({ length: load.deltas }, (_, index) => deltaOf(load, index)).join("");
}
