import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { type Cell, keyOf } from "./cell.ts";

/** The finished cells of a run: a file to which one line is appended for each, so that a run can go on. */
export class CellLog {
  readonly #path: string;
  readonly #cells: Map<string, Cell>;

  private constructor(path: string, cells: Map<string, Cell>) {
    this.#path = path;
    this.#cells = cells;
  }

  /**
   * Opens the file, or creates it. A last line that was cut off is removed. Throws if the file is of another
   * model.
   */
  static open(path: string, model: string): CellLog {
    const cells = new Map<string, Cell>();
    const whole = wholeLines(path);
    const [head, ...lines] = whole;
    const log = new CellLog(path, cells);
    if (head === undefined) {
      mkdirSync(dirname(path), { recursive: true });
      log.#append({ model });
      return log;
    }
    if (head !== JSON.stringify({ model })) {
      throw new Error(`${path} belongs to another run: ${head}. Choose another folder with --out.`);
    }
    for (const line of lines) {
      // It was written by `add`.
      const cell = JSON.parse(line) as Cell;
      cells.set(keyOf(cell), cell);
    }
    return log;
  }

  has(cell: Pick<Cell, "task" | "arm">): boolean {
    return this.#cells.has(keyOf(cell));
  }

  get cells(): readonly Cell[] {
    return [...this.#cells.values()];
  }

  add(cell: Cell): void {
    this.#append(cell);
    this.#cells.set(keyOf(cell), cell);
  }

  #append(value: object): void {
    appendFileSync(this.#path, `${JSON.stringify(value)}\n`);
  }
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
