/** What a question of a bench asks the model for. */
export interface Load {
  readonly deltas: number;
  /** From one delta to the next. */
  readonly gapMs: number;
  /** Whose answer it is: then each delta says so, and its number. Default: the same word in all. */
  readonly word?: string;
  /** Of the tool `look_up`, all at once, before the answer. Default: none. */
  readonly calls?: number;
}

export function questionFor({ deltas, gapMs, word, calls = 0 }: Load): string {
  const more = word === undefined ? "" : ` word=${word}`;
  return `deltas=${deltas} gap=${gapMs} calls=${calls}${more}`;
}

/** Finds it in whatever text has it. */
export function loadIn(text: string): Load {
  const [, deltas = "1", gapMs = "0", calls = "0", word] =
    /deltas=(\d+) gap=([\d.]+) calls=(\d+)(?: word=([\w-]+))?/u.exec(text) ?? [];
  return {
    deltas: Number(deltas),
    gapMs: Number(gapMs),
    calls: Number(calls),
    ...(word === undefined ? {} : { word }),
  };
}

export function deltaOf({ word }: Load, index: number): string {
  return word === undefined ? "word " : `${word}.${index} `;
}

export function answerTo(load: Load): string {
  return Array.from({ length: load.deltas }, (_, index) => deltaOf(load, index)).join("");
}
