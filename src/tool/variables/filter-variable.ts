import * as z from "zod";
import { ByrefError, limitExceeded } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Variables } from "../../store/variable-store.ts";
import { compact, type Json, type JsonObject } from "../../value/json.ts";
import { charsOf } from "./bounded-output.ts";
import { elementFilter } from "./element-filter.ts";
import { runtimeTool, type RuntimeToolContext } from "../runtime-tool.ts";
import { requireWritable, saveGuarded } from "./save-guarded.ts";
import { childrenOf, partAt, type Sequence } from "./sequence.ts";
import { outputJson, toolOutput } from "../tool-output.ts";
import { readable, referenceTo, type Target, targetIn } from "./variable-target.ts";

const NAME = "filter_variable";

const inputSchema = z.object({
  name: z.string(),
  path: z.string().optional(),
  where: z
    .looseObject({})
    .describe(
      'Field path ("$": the element) → value, or {eq, ne, gt, gte, lt, lte, in, contains, exists}',
    ),
  saveAs: z.string(),
});

/**
 * Saves the matching elements of an array as a variable, in their order. Does not run on guarded values: the
 * number of matches for a condition that the model chooses would reveal them.
 */
export const filterVariable = runtimeTool({
  name: NAME,
  description: "Keep the elements of an array that meet all conditions, as a variable.",
  inputSchema,
  async execute({ name, path, where, saveAs }, context) {
    const { store, labels, call, hidesUntrusted } = context;
    const target = targetIn(name, path);
    const saved = savedName(context, saveAs);
    readable(store, target.name);
    labels.add(target.name);
    // A model's input arrives as JSON; what is resolved has the keys that it had.
    const written = where as JsonObject;
    const { value: resolved, unresolved } = await context.resolve(written).finally(() => {
      // In place of any other error.
      if (!labels.isGuarded) return;
      throw new ByrefError(
        "variable_sealed",
        "A filter cannot compare with a sealed or secret value.",
      );
    });
    const meets = elementFilter(written, resolved as JsonObject);
    const value = await keptOf(await arrayAt(store, target), meets, call.signal);
    const labelled = labels.ofResult(NAME);
    const write = {
      name: saved,
      value,
      toolCallId: call.toolCallId,
      ...labelled,
      // A call that replaces what it reads would not make the same again.
      ...(saved === target.name
        ? {}
        : { tool: NAME, input: compact({ name, where: written, saveAs, path }) }),
    };
    const isShown = labelled.visibility === "model" && !hidesUntrusted;
    return {
      output: async () => {
        const info = await saveGuarded(context, write);
        // Where the call's result goes, too, it is what was kept that is meant.
        if (call.saveTo !== undefined) return value;
        return outputJson(toolOutput(info, value, { unresolved, hidesUntrusted }));
      },
      untrusted: isShown && !labelled.trusted,
    };
  },
});

/** Throws if nothing can be saved under it. */
function savedName(context: RuntimeToolContext, written: string): string {
  const { name, path } = targetIn(written);
  if (path.length > 0) {
    throw new ByrefError("bad_path", "saveAs is a variable's name, without a path behind it.");
  }
  requireWritable(context, { name });
  return name;
}

async function arrayAt(store: Variables, target: Target): Promise<Sequence> {
  const part = await partAt(store, target);
  if (!("sequence" in part) || part.sequence.type !== "array") {
    const message = `${referenceTo(target)} is no array; say with path where in it one is.`;
    throw new ByrefError("bad_value", message);
  }
  const { count, averageChars } = part.sequence;
  const actual = Math.ceil(count * averageChars);
  if (actual > limits.maxFilteredChars) {
    const most = Math.floor(limits.maxFilteredChars / averageChars);
    const advice = `Filter it in parts, the first with path [0:${most}].`;
    throw limitExceeded("maxFilteredChars", { maximum: limits.maxFilteredChars, actual, advice });
  }
  return part.sequence;
}

/** Never more of them at once than a value may have. */
async function keptOf(
  sequence: Sequence,
  meets: (element: Json) => boolean,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const kept: Json[] = [];
  let chars = 0;
  for await (const { value } of childrenOf({ sequence })) {
    if (signal.aborted) throw new ByrefError("tool_failed", `${NAME} was stopped.`);
    if (!meets(value)) continue;
    kept.push(value);
    chars += charsOf(value) + 1;
    if (chars > limits.maxJsonBytes) {
      const advice = "Filter for less, or a slice such as path [0:1000].";
      throw limitExceeded("maxJsonBytes", {
        maximum: limits.maxJsonBytes,
        actual: chars,
        advice,
      });
    }
  }
  return kept;
}
