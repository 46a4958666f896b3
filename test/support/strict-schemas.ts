import { Ajv2020 } from "ajv/dist/2020.js";

interface SchemaRule {
  /** A public report of the error. */
  readonly source: string;
  readonly error: string;
  readonly isBroken: (schema: Node) => boolean;
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
    // Also what stands beside one (MoonshotAI/kimi-cli/issues/2061), and one into itself (vercel/ai/issues/19488).
    source: "anomalyco/opencode/issues/27054",
    error: "references must be resolvable",
    isBroken: ({ $ref }) => $ref !== undefined,
  },
  {
    source: "anomalyco/opencode/issues/25495",
    error: "schema depth exceeds maximum limit of 10",
    isBroken: (root) => levelsOf(root) > 10,
    isOfRoot: true,
  },
  {
    source: "openclaw/openclaw/issues/137249",
    error: "Proto field is not repeating, cannot start list: type",
    isBroken: ({ type }) => Array.isArray(type),
  },
  {
    source: "google-gemini/gemini-cli/issues/4127",
    error: "Invalid value at enum[0] (TYPE_STRING)",
    isBroken: ({ enum: listed = ["a"], const: only = "a" }) =>
      !Array.isArray(listed) ||
      listed.length === 0 ||
      [...listed, only].some((one) => typeof one !== "string" || one === ""),
  },
  {
    source: "MoonshotAI/kimi-cli/pull/2030",
    error: "type is not defined",
    isBroken: (schema) => "enum" in schema && typeof schema["type"] !== "string",
  },
  {
    source: "can1357/oh-my-pi/issues/5952",
    error: "property schema must be an object",
    isBroken: ({ properties }) => isNode(properties) && !Object.values(properties).every(isNode),
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
    (isOfRoot ? [root] : nodes).some((node) => isBroken(node))
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
  for (const part of partsOf(schema)) yield* nodesIn(part);
}

/** The schemas that a schema holds. */
function partsOf(schema: Node): readonly Node[] {
  return Object.entries(schema).flatMap(([keyword, held]) => {
    if (DATA.has(keyword)) return [];
    return (NAMED.has(keyword) && isNode(held) ? Object.values(held) : [held].flat()).filter(
      isNode,
    );
  });
}

/** The levels of a schema. */
function levelsOf(schema: Node): number {
  return 1 + Math.max(0, ...partsOf(schema).map(levelsOf));
}
