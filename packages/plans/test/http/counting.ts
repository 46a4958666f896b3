/** Three calls of `count({ before, number })`, each after the one before it. */
export const COUNTING = [1, 2, 3].map((number) => ({
  _tool: "count",
  number,
  before: number === 1 ? 0 : `†state.n${number - 1}`,
  _outputPath: `†state.n${number}`,
}));

/** Lets everything happen that can without time. */
export async function settle(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
