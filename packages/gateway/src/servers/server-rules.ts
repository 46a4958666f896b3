import { type mcpRules, policies } from "../../../../src/internal-tool.ts";
import { json } from "../../../../src/internal.ts";
import type { ToolPolicy } from "../../../../src/runtime.ts";

export type ToolRules = mcpRules.ToolRules;

export interface ServerRules extends ToolRules {
  /** Rules by patterns of tool names, in which `*` matches any characters; later ones take precedence. */
  readonly tools?: Readonly<Record<string, ToolRules>> | undefined;
}

export interface RuledServer {
  readonly name: string;
  readonly rules: ServerRules;
}

/** Returns the rules for a tool by its own name: those of its server and of fitting patterns, joined. */
export function joinedRules({ rules }: RuledServer, tool: string): ToolRules {
  const { tools = {}, ...ofServer } = rules;
  const fitting = Object.entries(tools).map(([pattern, own]) =>
    policies.fitsName(pattern, tool) ? own : {},
  );
  return Object.assign({}, ofServer, ...fitting);
}

/** Returns the patterns of rules that fit none of the tools. */
export function idlePatterns(
  { rules }: RuledServer,
  tools: readonly { readonly name: string }[],
): readonly string[] {
  const patterns = Object.keys(rules.tools ?? {});
  return patterns.filter((pattern) => !tools.some(({ name }) => policies.fitsName(pattern, name)));
}

export function policyOf(server: RuledServer, tool: string): ToolPolicy {
  const { sealed, trusted = false, approval, inlineChars } = joinedRules(server, tool);
  return {
    trusted,
    source: `mcp:${server.name}`,
    // The input goes on as JSON text.
    numbers: "raw",
    aliases: [tool, `${server.name}/${tool}`],
    ...json.compact({ sealed, approval, inlineChars }),
  };
}
