/** Three calls of `count({ before, number })`, each after the one before it. */
export const COUNTING = [1, 2, 3].map((number) => ({
  _tool: "count",
  number,
  before: number === 1 ? 0 : `†state.n${number - 1}`,
  _outputPath: `†state.n${number}`,
}));
