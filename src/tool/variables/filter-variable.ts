import * as z from "zod";
import { ByrefError, codeOf, limitExceeded } from "../../errors.ts";
import { limits } from "../../limits.ts";
import type { VariableInfo, VariableStore, Write } from "../../store/variable-store.ts";
import { guardOf } from "../../store/visibility.ts";
import type { Json, JsonObject } from "../../value/json.ts";
import { charsOf } from "./bounded-output.ts";
import { elementFilter } from "./element-filter.ts";
import { runtimeTool } from "../runtime-tool.ts";
import { childrenOf, partAt, type Sequence } from "./sequence.ts";
import { toolOutput } from "../tool-output.ts";
import { referenceTo, targetIn, type Target, usable } from "./variable-target.ts";

const NAME = "filter_variable";

/** What one call may look at: reading it takes time in which the conversation does nothing else. */
const MAX_LOOKED_AT_CHARS = 33_554_432;

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
 * A variable made of an array's elements, in their order, guarded as they are and as what they were
 * compared with. Of sealed data the model learns as much as of any tool's result: how many there are.
 */
export const filterVariable = runtimeTool({
  name: NAME,
  description: "Keep the elements of an array that meet all conditions, as a variable.",
  inputSchema,
  async execute({ name, path, where, saveAs }, context) {
    const { store, labels, call, hidesUntrusted } = context;
    const target = targetIn(name, path);
    const saved = savedName(store, saveAs);
    usable(store, target.name);
    labels.add(target.name);
    // A model's input arrives as JSON; what is resolved has the keys that it had.
    const written = where as JsonObject;
    const { value: resolved, unresolved } = await context.resolve(written);
    const meets = elementFilter(written, resolved as JsonObject);
    const value = await keptOf(await arrayAt(store, target), meets, call.signal);
    const labelled = labels.ofResult(NAME);
    const write: Write & { readonly value: Json } = {
      name: saved,
      value,
      toolCallId: call.toolCallId,
      ...labelled,
      // A call that replaces what it reads would not make the same again.
      ...(saved === target.name
        ? {}
        : { tool: NAME, input: inputOf({ name, path, where, saveAs }) }),
    };
    const isShown = labelled.visibility === "model" && !hidesUntrusted;
    return {
      output: async () => {
        // Meanwhile it may have become secret.
        savedName(store, saveAs);
        // A guard stays, whatever is put in the place of what it guarded.
        const guard = store.glance(saved)?.visibility ?? "model";
        const visibility = guardOf([guard, labelled.visibility]);
        const info = await save(store, { ...write, visibility });
        // Where the call's result goes, too, it is what was kept that is meant.
        if (call.saveTo !== undefined) return value;
        // Made of JSON all the way down.
        return toolOutput(info, value, { unresolved, hidesUntrusted }) as unknown as Json;
      },
      untrusted: isShown && !labelled.trusted,
    };
  },
});

function inputOf({ path, ...input }: z.infer<typeof inputSchema>): Json {
  // As above: JSON.
  return { ...input, ...(path === undefined ? {} : { path }) } as Json;
}

/** Throws if nothing can be saved under it. */
function savedName(store: VariableStore, written: string): string {
  const { name, path } = targetIn(written);
  if (path.length > 0) {
    throw new ByrefError("bad_path", "saveAs is a variable's name, without a path behind it.");
  }
  if (name === "input") {
    throw new ByrefError("bad_name", "input is what was asked for: choose another name.");
  }
  if (store.glance(name) !== undefined) usable(store, name);
  return name;
}

async function arrayAt(store: VariableStore, target: Target): Promise<Sequence> {
  const part = await partAt(store, target);
  if (!("sequence" in part) || part.sequence.type !== "array") {
    const message = `${referenceTo(target)} is no array; say with path where in it one is.`;
    throw new ByrefError("bad_value", message);
  }
  const { count, averageChars } = part.sequence;
  const actual = Math.ceil(count * averageChars);
  if (actual > MAX_LOOKED_AT_CHARS) {
    const most = Math.floor(MAX_LOOKED_AT_CHARS / averageChars);
    const advice = `Filter it in parts, the first with path [0:${most}].`;
    throw limitExceeded("maxFilteredChars", { maximum: MAX_LOOKED_AT_CHARS, actual, advice });
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

/** Why it finds no room tells how large it is: of a guarded value nothing is told. */
async function save(store: VariableStore, write: Write): Promise<VariableInfo> {
  try {
    return await store.save(write);
  } catch (error) {
    const code = codeOf(error);
    if (write.visibility === "model" || code === "internal") throw error;
    throw new ByrefError(code, "What was kept could not be saved, and is guarded.");
  }
}
