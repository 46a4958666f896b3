import { existsSync } from "node:fs";
import { Taint } from "../../../../src/store/labels.ts";
import { writeAtomically } from "./write-atomically.ts";

/** A taint that a file remembers, for all processes of a workspace. */
export class TaintFile extends Taint {
  readonly #file: string;

  constructor(file: string) {
    super();
    this.#file = file;
  }

  override get isTainted(): boolean {
    return super.isTainted || existsSync(this.#file);
  }

  override add(): void {
    if (this.isTainted) return;
    super.add();
    writeAtomically(this.#file, "");
  }
}
