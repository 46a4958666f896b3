import { editVariable } from "../edit/edit-variable.ts";
import type { RecordEdits } from "../edit/edited-value.ts";
import { exportVariable } from "./export-variable.ts";
import type { FileWriter } from "../files.ts";
import { readVariable } from "./read-variable.ts";
import { type RuntimeResult, type RuntimeTool, runtimeTool, fits } from "../runtime-tool.ts";
import { searchVariable } from "./search-variable.ts";
import { setVariable, setVariableOrUser } from "./set-variable.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { change } from "../tool-call.ts";
import { targetIn, usable } from "./variable-target.ts";
import * as limits from "../../limits.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { clip } from "../../value/characters.ts";
import { compact, type Json } from "../../value/json.ts";
import { describesUntrusted, guardedView } from "../tool-output.ts";

export interface VariableToolsOptions {
  /** Required for `export_variable`; without it the tool is not in the list. */
  readonly files?: FileWriter;
  /** Required for `edit_variable` to change records by a condition. */
  readonly records?: RecordEdits | undefined;
  /** What the agent may do with the values of who asks. Default: nothing, and no tool says so. */
  readonly user?: "read" | "write" | undefined;
  /** Work limit of one search; see `SearchOptions`. */
  readonly maxReadWork?: number;
}

/** Names of the built-in tools, `run_code` included. A server's tool cannot have one of these names. */
export const runtimeToolNames: readonly string[] = [
  "list_variables",
  "read_variable",
  "search_variable",
  "query_variables",
  "set_variable",
  "delete_variable",
  "edit_variable",
  "export_variable",
  "run_code",
  "propose_plan",
  "delegate",
];

/** Names of the tools of the capability `variable`, which tags and workflows call. They are reserved too. */
export const capabilityToolNames: readonly string[] = [
  "variable_set",
  "variable_get",
  "variable_list",
  "variable_interpolate",
  "variable_clear",
  "variable_clear_all",
];

/** The tools with which a model reads and writes variables. */
export function variableTools(options: VariableToolsOptions = {}): readonly RuntimeTool[] {
  const { files, records, maxReadWork, user } = options;
  const maxWork = maxReadWork === undefined ? {} : { maxWork: maxReadWork };
  return [
    user === undefined ? listVariables : listVariablesOrUser,
    readVariable,
    searchVariable(maxWork),
    user === "write" ? setVariableOrUser : setVariable,
    deleteVariable,
    editVariable(records),
    ...(files === undefined ? [] : [exportVariable(files)]),
  ];
}

export const deleteVariable = runtimeTool({
  name: "delete_variable",
  description: "Delete a variable.",
  offeredFrom: "text",
  inputSchema: z.object({ name: z.string() }),
  writes: ["name"],
  execute(input, { store }) {
    const { name, path } = targetIn(input.name);
    if (path.length > 0) {
      const message = `Only a whole variable can be deleted. Change ${name} with edit_variable: [{"op": "remove", "path": "/…"}].`;
      throw new ByrefError("bad_path", message);
    }
    if (name === "input") {
      throw new ByrefError("bad_name", "input is what was asked for: it cannot be deleted.");
    }
    const requireDeletable = () => {
      if (!usable(store, name).pinned) return;
      throw new ByrefError("bad_request", `$${name} is pinned: it cannot be deleted.`);
    };
    requireDeletable();
    return {
      output: async () =>
        change(() => {
          requireDeletable();
          store.delete(name);
          return { deleted: name };
        }),
    };
  },
});

/**
 * Maximum characters of shapes, previews and descriptions; the first value with which the list fits is used.
 */
const LENGTHS = [limits.maxLineChars, 120, 60, 20, 0];

const listed = { last_n: z.int().min(1).max(limits.maxBatchItems).optional() };

const listVariables = runtimeTool({
  name: "list_variables",
  description: "List variables.",
  offeredFrom: "text",
  unlisted: ["last_n"],
  inputSchema: z.object(listed),
  execute({ last_n = limits.maxListedVariables }, { store, hidesUntrusted }) {
    return resultOf(store.list({ last: last_n }), { total: store.count(), hidesUntrusted });
  },
});

/** The same for an agent that may use the values of who asks. */
const listVariablesOrUser = runtimeTool({
  ...listVariables,
  description: `${listVariables.description} scope user: $user.name, the values of this user in all conversations.`,
  // No prompt lists them.
  offeredFrom: "start",
  inputSchema: z.object({ ...listed, scope: z.literal("user").optional() }),
  async execute({ scope, ...input }, context) {
    const { user, hidesUntrusted } = context;
    if (scope === undefined || user === undefined) return listVariables.execute(input, context);
    await user.scope.load();
    const infos = user.scope.list();
    const last = infos.slice(-(input.last_n ?? limits.maxListedVariables));
    return resultOf(last, { total: infos.length, hidesUntrusted });
  },
});

function resultOf(infos: readonly VariableInfo[], about: Listed): RuntimeResult {
  const { infos: shown, output } = withinBounds(infos, about);
  return { output, untrusted: shown.some(describesUntrusted) && !about.hidesUntrusted };
}

interface Listed {
  /** Total number of variables. */
  readonly total: number;
  readonly hidesUntrusted: boolean;
}

/** Shortens descriptions first, then omits the oldest variables. */
function withinBounds(listed: readonly VariableInfo[], about: Listed) {
  for (let first = 0; ; first += Math.max(Math.ceil((listed.length - first) / 10), 1)) {
    const infos = listed.slice(first);
    for (const chars of LENGTHS) {
      const output = outputFor(infos, { ...about, chars });
      if (fits(output) || infos.length === 0) return { infos, output };
    }
  }
}

function outputFor(
  infos: readonly VariableInfo[],
  { total, chars, hidesUntrusted }: Listed & { readonly chars: number },
): Json {
  const more = total - infos.length;
  const variables = infos.map((info) => {
    const { name, type, count, visibility, trusted } = info;
    const isHidden = hidesUntrusted && !trusted && visibility === "model";
    return isHidden ? { name, visibility: "hidden", type, count } : entryOf(info, chars);
  });
  if (more <= 0) return { variables };
  return { variables, more: `… (+${more} older; last_n shows up to ${limits.maxBatchItems})` };
}

/** Shows the fields that the visibility table in the architecture page allows. */
function entryOf(info: VariableInfo, chars: number): Json {
  const { name, type, count, shape, preview, description } = info;
  const guarded = guardedView(info);
  if (guarded !== undefined) return { name, ...guarded };
  return compact({
    name,
    type,
    count,
    shape: shortened(shape, chars),
    preview: shortened(preview, chars),
    description: description === undefined ? undefined : shortened(description, chars),
  });
}

function shortened(text: string, chars: number): string | undefined {
  if (text.length <= chars) return text;
  return chars === 0 ? undefined : `${clip(text, chars - 1)}…`;
}
