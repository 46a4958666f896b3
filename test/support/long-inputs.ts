/** Maximum characters of an input. */
export const MAX_INPUT_CHARS = 65_536;

export const listOf = (count: number, write: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n));

/** Fills the `…` in `around` with as many texts as fit. */
export function filled(around: string, write: (n: number) => string, between = ","): string {
  const texts: string[] = [];
  for (let chars = around.length, n = 0; ; n++) {
    const next = write(n);
    chars += next.length + between.length;
    if (chars > MAX_INPUT_CHARS) return around.replace("…", () => texts.join(between));
    texts.push(next);
  }
}

/** Nested arrays at the place of `…`, far deeper than allowed. */
export const nested = (around = "…") => {
  const depth = (MAX_INPUT_CHARS - around.length) / 2 - 1;
  return around.replace("…", () => "[".repeat(depth) + "]".repeat(depth));
};
