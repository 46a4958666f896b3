import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { PreparedWrite, Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { isObject, type Json } from "../../value/json.ts";
import { change, stageAll, type StagedWrites } from "../tool-call.ts";
import type { Stage } from "../wrapped-tool.ts";
import {
  type RuntimeResult,
  type RuntimeTool,
  runtimeTool,
  type RuntimeToolContext,
} from "../runtime-tool.ts";
import { guardedWrite, handleOf, keptInput, requireWritable } from "../variables/set-variable.ts";
import { readable, type Target, targetIn } from "../variables/variable-target.ts";
import {
  editedValue,
  editsIn,
  listedEdits,
  type RecordEdits,
  resolvedEdits,
} from "./edited-value.ts";

const NAME = "edit_variable";

const TEXT = "Edit text: [{find, replace, all?}]; JSON: JSON Patch; or `undo`";
const RECORDS = "; records: [{where, set}], where in SQL";

const inputSchema = z.object({
  name: z.string(),
  edits: z.unknown(),
  saveAs: z.string().optional(),
});

type Input = z.infer<typeof inputSchema>;

/**
 * Changes a variable in place, or saves the changed value under another name or at the call's place for its result.
 * Edits of records need `records`.
 */
export function editVariable(records?: RecordEdits): RuntimeTool {
  return runtimeTool({
    name: NAME,
    description: `${TEXT}${records === undefined ? "" : RECORDS}.`,
    inputSchema,
    offeredFrom: "text",
    unlisted: ["saveAs"],
    writes: ["name", "saveAs"],
    reads: ({ edits }, syntaxes) =>
      conditionsIn(edits).flatMap((where) => records?.tablesIn(where, syntaxes) ?? []),
    execute: (input, context) => edit(input, context, records),
  });
}

/** Returns the conditions of edits that may not be valid. */
function conditionsIn(edits: unknown): readonly string[] {
  return listedEdits(edits).flatMap((one) =>
    isObject(one) && typeof one["where"] === "string" ? one["where"] : [],
  );
}

async function edit(
  input: Input,
  context: Context,
  records: RecordEdits | undefined,
): Promise<RuntimeResult> {
  const { store, labels, hidesUntrusted, call } = context;
  const from = targetIn(input.name);
  const info = readable(store, from.name);
  const place = input.saveAs === undefined ? from : targetIn(input.saveAs);
  const isResult = call.saveTo !== undefined && input.saveAs === undefined;
  if (!isResult) requireWritable(context, place);
  labels.add(from.name);
  const edits = editsIn(input.edits);
  if (edits === "undo") return { output: undo(from, input, context) };
  const resolved = await resolvedEdits(edits, { context, target: from, records });
  const isInPlace = input.saveAs === undefined;
  // A variable that the model can read would become guarded.
  if (labels.isGuarded && isInPlace && !isResult) {
    const message = "The edits contain a guarded value: give saveAs, the name for the result.";
    throw new ByrefError("variable_sealed", message);
  }
  const isPart = isResult || place.path.length > 0;
  const edited = await editedValue(from, { store, edits: resolved, isPart });
  if (edited.isComposed) labels.compose();
  const { value, diff } = edited;
  // A result is made in memory.
  if (isResult) return { output: null, value: value as Json };
  // The difference contains what was put in.
  const isUntrusted = labels.hasUntrusted;
  const isHidden = labels.isGuarded || (hidesUntrusted && isUntrusted);
  const shownDiff = isHidden ? undefined : diff;
  const write = {
    ...place,
    value,
    toolCallId: call.toolCallId,
    keepsMetadata: isInPlace,
    keepsVersion: true,
    // Repeating an edit in place does not restore the variable.
    ...(isInPlace ? {} : { tool: NAME, ...keptInput(input) }),
    ...labels.ofResult(NAME),
  };
  const writes = guardedWrite(context, write, (saved) => handleOf(saved, shownDiff));
  return {
    output: () => (isInPlace ? stageUnlessChanged(writes, info, store) : stageAll(writes)),
    untrusted: isUntrusted && shownDiff !== undefined,
  };
}

/** Restores the version before the last change. */
function undo({ name, path }: Target, { saveAs }: Input, { store }: Context): Stage<Json> {
  if (path.length > 0 || saveAs !== undefined) {
    throw new ByrefError("invalid_tool_input", "undo restores a whole variable, in place.");
  }
  return async () =>
    change(() => {
      readable(store, name);
      const info = store.undo(name);
      if (info !== undefined) return handleOf(info);
      throw new ByrefError(
        "edit_conflict",
        `No earlier version of $${name} is kept. Read it with read_variable, then edit it as it is.`,
      );
    });
}

type Context = RuntimeToolContext;

/** Fails if the variable was written since it was edited. */
async function stageUnlessChanged(
  writes: StagedWrites<Json>,
  { name, version }: VariableInfo,
  store: Variables,
): Promise<PreparedWrite<Json>> {
  const { commit, discard } = await stageAll(writes);
  const commitUnlessChanged = () => {
    if (store.glance(name)?.version === version) return commit();
    discard();
    throw new ByrefError("edit_conflict", `$${name} changed in the meantime; edit it again.`);
  };
  return { commit: commitUnlessChanged, discard };
}
