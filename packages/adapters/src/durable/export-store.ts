import { Sha256Stream } from "../../../../src/edge/platform/sha256-stream.ts";
import { ByrefError } from "../../../../src/errors.ts";
import type { VariableStore } from "../../../../src/store/variable-store.ts";
import { variableLines } from "../../../../src/tool/transfer/export-variables.ts";
import { transferLines } from "../../../../src/tool/transfer/transfer-lines.ts";
import { type LineOf, TRANSFER_VERSION } from "../../../../src/tool/transfer/variable-records.ts";

/** Exports all variables of a store, created while they are read. If they change meanwhile, it ends in `conflict`. */
export function exportStore(store: VariableStore, id: string): ReadableStream<Uint8Array> {
  return transferLines(linesOf(store, id), new Sha256Stream());
}

async function* linesOf(store: VariableStore, id: string) {
  let hasChanged = false;
  const stop = store.observe(() => {
    hasChanged = true;
  });
  try {
    const createdAt = new Date().toISOString();
    const header: LineOf<"byref"> = {
      type: "byref",
      version: TRANSFER_VERSION,
      id,
      title: null,
      createdAt,
    };
    yield header;
    for await (const line of variableLines(store)) {
      yield line;
      if (hasChanged) throw new ByrefError("conflict", CHANGED);
    }
  } finally {
    stop();
  }
}

export const CHANGED = "The variables changed in the meantime; try again.";
