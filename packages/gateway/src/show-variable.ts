import type { ClientCapabilities, ReadResourceResult, Tool } from "@modelcontextprotocol/server";
import * as z from "zod";
import { json, sequences, targets } from "../../../src/internal.ts";
import { type RuntimeTool, runtimeTool } from "../../../src/internal-tool.ts";

/** The names of MCP Apps (SEP-1865). */
const EXTENSION = "io.modelcontextprotocol/ui";
const APP_TYPE = "text/html;profile=mcp-app";

/** The address of the view, one file of HTML. */
const APP = {
  uri: "ui://byref/variable",
  name: "variable",
  description: "Shows a variable to the person.",
  mimeType: APP_TYPE,
};

const NAME = "show_variable";

/** A tool of the gateway with metadata for clients beside its definition. */
export type OwnTool = RuntimeTool & { readonly meta?: Tool["_meta"] };

/**
 * Returns the tool that shows a variable to the person. Its result is one line: the view reads the value through
 * the client, as any reader of a resource does.
 */
export function showVariable(): OwnTool {
  const tool = runtimeTool({
    name: NAME,
    description:
      "Show the person a variable as table, chart, tree, text or image. You get no value.",
    inputSchema: z.object({ name: z.string(), path: z.string().optional() }),
    async execute({ name, path }, { store }) {
      const target = targets.targetIn(name, path);
      const info = targets.readable(store, target.name);
      if (target.path.length > 0)
        await targets.inspect(info, target, () => sequences.valueAt(store, target));
      return { output: { shown: target.name } };
    },
  });
  // Hosts of before the specification know the second key only.
  return { ...tool, meta: { ui: { resourceUri: APP.uri }, "ui/resourceUri": APP.uri } };
}

/** True for a client that shows views. */
export function showsApps({ extensions }: ClientCapabilities): boolean {
  const declared = extensions?.[EXTENSION];
  if (!json.isObject(declared)) return false;
  const { mimeTypes } = declared;
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_TYPE);
}

/** True for a tool that is only for clients that show views. */
export function isShowing({ name }: Tool): boolean {
  return name === NAME;
}

/** The view as a resource. It loads nothing from anywhere. */
export class VariableApp {
  readonly resource = APP;
  readonly #html: () => string;

  constructor(html: () => string) {
    this.#html = html;
  }

  read(): ReadResourceResult {
    const { uri, mimeType } = APP;
    const meta = { _meta: { ui: { prefersBorder: true } } };
    return { contents: [{ uri, mimeType, text: this.#html(), ...meta }] };
  }
}
