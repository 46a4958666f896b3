import { Ajv2020 } from "ajv/dist/2020.js";

interface SchemaRule {
  /** A public report of the error. */
  readonly source: string;
  readonly error: string;
  readonly isBroken: (schema: Node, root: Node) => boolean;
  /** True for a rule about the root only. */
  readonly isOfRoot?: boolean;
}

type Node = Readonly<Record<string, unknown>>;

const ajv = new Ajv2020({ strict: false, validateFormats: true });
const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const keysOf = (value: unknown) => (isNode(value) ? Object.keys(value) : []);
const includes = (value: unknown, type: string) => [value].flat().includes(type);

/** What providers refuse in the schema of a tool's input, and with it each call with the tool. */
const RULES: readonly SchemaRule[] = [
  {
    source: "anthropics/claude-code/issues/586",
    error: "JSON schema is invalid. It must match JSON Schema draft 2020-12",
    isBroken: (schema) => "$schema" in schema || ajv.validateSchema(schema) !== true,
    isOfRoot: true,
  },
  {
    source: "makenotion/notion-mcp-server/issues/341",
    error: "input_schema does not support oneOf, allOf, or anyOf at the top level",
    isBroken: (schema) =>
      ["anyOf", "oneOf", "allOf", "not", "enum", "$ref"].some((keyword) => keyword in schema),
    isOfRoot: true,
  },
  {
    source: "github/github-mcp-server/issues/1548",
    error: "object schema missing properties",
    isBroken: ({ type, properties }) => type !== "object" || !isNode(properties),
    isOfRoot: true,
  },
  {
    source: "twilio-labs/mcp/issues/56",
    error: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    isBroken: ({ properties }) =>
      keysOf(properties).some((key) => !/^[a-zA-Z0-9_.-]{1,64}$/u.test(key)),
    isOfRoot: true,
  },
  {
    source: "ruvnet/ruflo/issues/1294",
    error: "array schema missing items",
    isBroken: ({ type, items }) => includes(type, "array") && !isNode(items),
  },
  {
    source: "agigante80/actual-mcp-server/issues/293",
    error: "is not a 'regex'",
    // Look-around, classes of Unicode, and an open bracket in a class.
    isBroken: ({ pattern = "", patternProperties }) =>
      [pattern, ...keysOf(patternProperties)].some((one) =>
        /\(\?[^:]|\\[pPu]|\[[^\]]*[^\\]\[/u.test(String(one)),
      ),
  },
  {
    source: "vercel/ai/pull/18921",
    error: "required names a property that is not defined",
    isBroken: ({ required = [], properties, type }) =>
      (includes(type, "object") || properties !== undefined) &&
      [required].flat().some((name) => !keysOf(properties).includes(String(name))),
  },
  {
    source: "anyproto/anytype-mcp/issues/21",
    error: "PointerToNowhere",
    isBroken: ({ $ref = "#" }, root) => {
      const [start, keyword = "", name = "", ...more] = String($ref).split("/");
      const isOfDefinition = start === "#" && more.length === 0;
      return $ref !== "#" && !(isOfDefinition && keysOf(root[keyword]).includes(name));
    },
  },
  {
    source: "MoonshotAI/kimi-code/issues/2661",
    error: "when using anyOf, type should be defined in anyOf items instead of the parent schema",
    isBroken: ({ anyOf, type }) => anyOf !== undefined && type !== undefined,
  },
  {
    source: "QwenLM/qwen-code/pull/9869",
    error: "uniqueItems is not supported",
    isBroken: (schema) => "uniqueItems" in schema,
  },
];

/** The errors with which providers refuse a tool that has the schema, each with its report. */
export function schemaErrors(schema: object): readonly string[] {
  const root = schema as Node;
  const nodes = [...nodesIn(root)];
  return RULES.flatMap(({ source, error, isBroken, isOfRoot = false }) =>
    (isOfRoot ? [root] : nodes).some((node) => isBroken(node, root))
      ? [`${error} (https://github.com/${source})`]
      : [],
  );
}

const NAMED = new Set([
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "dependentSchemas",
]);
const DATA = new Set(["const", "default", "enum", "examples"]);

/** All schemas in a schema. */
function* nodesIn(schema: Node): Generator<Node> {
  yield schema;
  for (const [keyword, held] of Object.entries(schema)) {
    if (DATA.has(keyword)) continue;
    const parts = NAMED.has(keyword) && isNode(held) ? Object.values(held) : [held].flat();
    for (const part of parts) if (isNode(part)) yield* nodesIn(part);
  }
}
