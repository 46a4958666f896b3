import { editVariable, type RecordEdits } from "../edit/edit-variable.ts";
import {
  type FileWriter,
  type FileContent,
  fileContent,
  type FileFormat,
  fileFormats,
  filePathIn,
  formatFor,
} from "../files.ts";
import { readVariable } from "./read-variable.ts";
import { type RuntimeResult, type RuntimeTool, runtimeTool, fits } from "../runtime-tool.ts";
import { searchVariable } from "./search-variable.ts";
import { setVariable } from "./set-variable.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { change } from "../tool-call.ts";
import { targetIn, usable, type Target } from "./variable-target.ts";
import * as limits from "../../limits.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { clip } from "../../value/characters.ts";
import { compact, type Json } from "../../value/json.ts";
import { describesUntrusted, guardedView } from "../tool-output.ts";
import type { Variables } from "../../store/variable-store.ts";
import { parseMediaType } from "../../value/media-type.ts";
import { readBytes, readValue, valueOf } from "../store-lookup.ts";

export interface VariableToolsOptions {
  /** Required for `export_variable`; without it the tool is not in the list. */
  readonly files?: FileWriter;
  /** Required for `edit_variable` to change records by a condition. */
  readonly records?: RecordEdits | undefined;
  /** What the agent may do with the values of who asks. Default: nothing, and no tool says so. */
  readonly user?: "read" | "write" | undefined;
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
  const { files, records, user } = options;
  return [
    listVariables(user),
    readVariable,
    searchVariable(),
    setVariable(user),
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

const listed = z.object({ last_n: z.int().min(1).max(limits.maxBatchItems).optional() });
const listedOfUser = listed.extend({ scope: z.literal("user").optional() });
const OF_USER = " scope user: $user.name, the values of this user in all conversations.";

function listVariables(user: VariableToolsOptions["user"]): RuntimeTool {
  return runtimeTool({
    name: "list_variables",
    description: `List variables.${user === undefined ? "" : OF_USER}`,
    // No prompt lists the values of a user.
    offeredFrom: user === undefined ? "text" : "start",
    unlisted: ["last_n"],
    inputSchema: user === undefined ? listed : listedOfUser,
    async execute({ last_n: last = limits.maxListedVariables, ...input }, context) {
      const { store, hidesUntrusted } = context;
      const isOfUser = "scope" in input && input.scope !== undefined;
      const values = isOfUser ? context.user?.scope : undefined;
      if (values === undefined)
        return listOf(store.list({ last }), { total: store.count(), hidesUntrusted });
      await values.load();
      const infos = values.list();
      return listOf(infos.slice(-last), { total: infos.length, hidesUntrusted });
    },
  });
}

/** Shortens descriptions first, then omits the oldest variables. `total`: the number of all variables. */
function listOf(
  listed: readonly VariableInfo[],
  { total, hidesUntrusted }: { readonly total: number; readonly hidesUntrusted: boolean },
): RuntimeResult {
  for (let first = 0; ; first += Math.max(Math.ceil((listed.length - first) / 10), 1)) {
    const infos = listed.slice(first);
    const more = total - infos.length;
    const left = `… (+${more} older; last_n shows up to ${limits.maxBatchItems})`;
    const untrusted = infos.some(describesUntrusted) && !hidesUntrusted;
    for (const chars of LENGTHS) {
      const variables = infos.map((info) => entryOf(info, chars, hidesUntrusted));
      const output = more <= 0 ? { variables } : { variables, more: left };
      if (fits(output) || infos.length === 0) return { output, untrusted };
    }
  }
}

/** Shows the fields that the visibility table in the architecture page allows. */
function entryOf(info: VariableInfo, chars: number, hidesUntrusted: boolean): Json {
  const { name, type, count, visibility, trusted, shape, preview, description } = info;
  const isHidden = hidesUntrusted && !trusted && visibility === "model";
  if (isHidden) return { name, visibility: "hidden", type, count };
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

const EXPORT = "export_variable";

const exportSchema = z.object({
  name: z.string(),
  path: z.string().optional(),
  file: z.string(),
  format: z.enum(fileFormats).optional(),
});

function exportVariable(files: FileWriter): RuntimeTool {
  return runtimeTool({
    name: EXPORT,
    // A repeated call writes the same file.
    effects: "idempotent",
    description: "Write a variable or part to file:a.csv.",
    offeredFrom: "text",
    // The name may contain the path, and the file's extension determines the format.
    unlisted: ["path", "format"],
    inputSchema: exportSchema,
    async execute({ name, path, file, format }, { store, labels }) {
      const target = targetIn(name, path);
      const info = usable(store, target.name);
      const written = filePathIn(file);
      labels.add(info.name);
      const content = await contentOf(store, target, { written, format });
      const guards = labels.ofResult(EXPORT);
      return {
        output: async () => {
          const done = await files.write(written, content, guards);
          // The length of a guarded value would reveal something about it.
          const bytes = guards.visibility === "model" ? { bytes: done.bytes } : {};
          return change(() => ({ file: `file:${done.path}`, ...bytes }));
        },
      };
    },
  });
}

/** Returns a value as a file has it: bytes, and a CSV, as they came. */
async function contentOf(
  store: Variables,
  target: Target,
  { written, format }: { readonly written: string; readonly format?: FileFormat | undefined },
): Promise<FileContent> {
  const { name, type, mediaType } = usable(store, target.name);
  const isWhole = target.path.length === 0;
  if (type === "bytes" && !(isWhole && format === undefined))
    throw new ByrefError("bad_value", `$${name} is bytes, and is exported as it is.`);
  const isCsv = type === "array" && parseMediaType(mediaType)?.essence === "text/csv";
  const isFile = isWhole && isCsv && (format ?? formatFor(written, null)) === "csv";
  const value = isFile
    ? valueOf(target, await readBytes(target, store))
    : await readValue(store, target, { bytes: true });
  if ((value as unknown) instanceof Uint8Array)
    return { bytes: value as unknown as Uint8Array, mediaType };
  return fileContent(value, format ?? formatFor(written, value));
}
