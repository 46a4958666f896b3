/** What a question of the bench asks the model for. */
export interface Load {
  readonly deltas: number;
  /** From one delta to the next. */
  readonly gapMs: number;
}

/** Each delta of every answer. */
export const DELTA = "word ";

export function questionFor({ deltas, gapMs }: Load): string {
  return `deltas=${deltas} gap=${gapMs}`;
}

/** Finds it in whatever text has it. */
export function loadIn(text: string): Load {
  const [, deltas = "1", gapMs = "0"] = /deltas=(\d+) gap=([\d.]+)/u.exec(text) ?? [];
  return { deltas: Number(deltas), gapMs: Number(gapMs) };
}
