import * as z from "zod";

/** How one server's tools are treated. All are optional. */
export const toolRules = z.strictObject({
  /** A result is saved, but a model never sees more of it than type and count. */
  sealed: z.boolean().optional(),
  /** Default: false, because a server may pass on data from anywhere. */
  trusted: z.boolean().optional(),
  /** Calls need a person's approval: all, or those that pass on what is not trusted. */
  approval: z
    .union([z.boolean(), z.literal("untrusted")], { error: 'must be true, false or "untrusted"' })
    .optional(),
  /** Results of more characters are shown as a handle. */
  inlineChars: z.int().min(0).max(1_000).optional(),
});

export type ToolRules = Readonly<z.infer<typeof toolRules>>;

/** An MCP server over streamable HTTP, for agents. */
export interface McpServer {
  readonly name: string;
  readonly url: string;
  /** Sent with every request to this server, and to no other server. May hold keys. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The agents that can use its tools. Default: all. */
  readonly agents?: readonly string[] | undefined;
  /**
   * Rules by patterns of the server's own tool names, in which `*` matches any characters. If several
   * patterns match, later ones take precedence.
   */
  readonly tools?: Readonly<Record<string, ToolRules>> | undefined;
}
