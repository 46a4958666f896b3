import { fitsName, type ToolPolicy } from "../tool/policy.ts";
import * as limits from "../limits.ts";
import { compact } from "../value/json.ts";
import type { ServerConfiguration, ToolRules } from "./configuration.ts";

/** The rules for one tool, those of its server and of fitting patterns joined. */
export interface JoinedRules {
  readonly policy: ToolPolicy;
  /** True if a call asks a person when it passes on what is not trusted. */
  readonly asksIfUntrusted: boolean;
  readonly inlineChars: number;
}

/** Returns the rules for a server's tool by its own name. */
export function rulesFor({ name, rules }: ServerConfiguration, tool: string): JoinedRules {
  const { tools = {}, ...ofServer } = rules;
  const fitting = Object.entries(tools).map(([pattern, own]) =>
    fitsName(pattern, tool) ? own : {},
  );
  const joined: ToolRules = Object.assign({}, ofServer, ...fitting);
  const { sealed, trusted = false, approval, inlineChars } = joined;
  return {
    policy: {
      trusted,
      source: `mcp:${name}`,
      aliases: [tool, `${name}/${tool}`],
      ...compact({ sealed, approval: approval === true ? true : undefined }),
    },
    asksIfUntrusted: approval === "untrusted",
    inlineChars: inlineChars ?? limits.maxShownResultChars,
  };
}
