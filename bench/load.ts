/** What a question of a bench asks the model for. */
export interface Load {
  readonly deltas: number;
  /** From one delta to the next. */
  readonly gapMs: number;
  /** Whose answer it is: then each delta says so, and its number. Default: the same word in all. */
  readonly word?: string;
  /** Of the tool, before the answer. Default: none. */
  readonly calls?: number;
  /** Default: `look_up`. */
  readonly tool?: string;
  /** Each call in a step of its own. Default: all in one. */
  readonly isSerial?: boolean;
  /** What the model writes, in one delta, in place of words: a reference. */
  readonly say?: string;
}

export function questionFor(load: Load): string {
  const { deltas, gapMs, word, calls = 0, tool, isSerial = false, say } = load;
  const more = [
    ...(word === undefined ? [] : [`word=${word}`]),
    ...(tool === undefined ? [] : [`tool=${tool}`]),
    ...(isSerial ? ["serial=1"] : []),
    ...(say === undefined ? [] : [`say=${say}`]),
  ];
  return [`deltas=${deltas} gap=${gapMs} calls=${calls}`, ...more].join(" ");
}

/** Finds it in whatever text has it. */
export function loadIn(text: string): Load {
  const [question = ""] = /deltas=[^"\\\n]*/u.exec(text) ?? [];
  const said = new Map(
    question.split(" ").map((field): [string, string] => {
      const equals = field.indexOf("=");
      return [field.slice(0, equals), field.slice(equals + 1)];
    }),
  );
  const [word, tool, say] = ["word", "tool", "say"].map((field) => said.get(field));
  return {
    deltas: Number(said.get("deltas") ?? 1),
    gapMs: Number(said.get("gap") ?? 0),
    calls: Number(said.get("calls") ?? 0),
    isSerial: said.has("serial"),
    ...(word === undefined ? {} : { word }),
    ...(tool === undefined ? {} : { tool }),
    ...(say === undefined ? {} : { say }),
  };
}

export function deltaOf({ word }: Load, index: number): string {
  return word === undefined ? "word " : `${word}.${index} `;
}

/** Of what is said by words. */
export function answerTo(load: Load): string {
  return Array.from({ length: load.deltas }, (_, index) => deltaOf(load, index)).join("");
}
