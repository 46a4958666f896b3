/** What an agent says about one of its tools, for the values that go in and come out. */
export interface ToolPolicy {
  /** Secret variables that the tool may be given, by name. Default: none. */
  readonly secrets?: readonly string[];
  /** The model sees of its results only that they are there. */
  readonly sealed?: boolean;
  /** False for a tool whose results somebody else writes: mails, web pages. Default: true. */
  readonly trusted?: boolean;
  /** Its results may be shown although guarded values went in: it hands out none of them. */
  readonly declassifies?: boolean;
  /** A person has to approve each call. Default: false. */
  readonly approval?: boolean;
  /** Other names under which a policy may know it, e.g. `delete_all` and `mail/delete_all`. */
  readonly aliases?: readonly string[];
  /** Where its results come from, e.g. `mcp:<server>`. Default: `tool:<name>`. */
  readonly source?: string;
}
