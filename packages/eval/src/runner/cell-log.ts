import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { type Cell, keyOf } from "./cell.ts";

/** The finished cells of a run, by `keyOf`. */
export type CellLog = Map<string, Cell>;

/**
 * Reads the finished cells of a file, so that a run can go on, or creates it. A last line that was cut off is
 * removed. Throws if the file is of another model.
 */
export function openLog(path: string, model: string): CellLog {
  const [head, ...lines] = wholeLines(path);
  const own = JSON.stringify({ model });
  if (head === undefined) {
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(path, `${own}\n`);
  } else if (head !== own) {
    throw new Error(`${path} belongs to another run: ${head}. Choose another folder with --out.`);
  }
  // `addCell` wrote the lines.
  const cells = lines.map((line) => JSON.parse(line) as Cell);
  return new Map(cells.map((cell) => [keyOf(cell), cell]));
}

export function addCell(log: CellLog, path: string, cell: Cell): void {
  appendFileSync(path, `${JSON.stringify(cell)}\n`);
  log.set(keyOf(cell), cell);
}

/** Returns the lines that end with a line break, and cuts off what follows them. */
function wholeLines(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf("\n") + 1;
  if (end < bytes.length) truncateSync(path, end);
  const text = bytes.subarray(0, end).toString("utf8");
  return text === "" ? [] : text.slice(0, -1).split("\n");
}
