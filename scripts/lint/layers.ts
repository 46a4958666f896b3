/**
 * Lint rule for layers: what each folder imports. Files directly in `src`, such as `errors.ts`, are for all, but
 * for the entry points `byref.ts` and `index.ts`, which are for none. Packages take what the folders of `src` have from
 * `internal.ts`, `internal-tool.ts` and `runtime.ts`, and, where they run in Workers only, from `internal-edge.ts`.
 * Imports of types count, unless a layer says otherwise.
 */
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** What runs anywhere imports none of these. */
const PLATFORM = ["hono", "cloudflare:", "node:"];
const SDK = ["ai", "@ai-sdk/", "zod"];
const NODE = ["node:", "cloudflare:test"];
const CORE = ["src/value", "src/reference", "src/store", "src/tool"];
const RUNTIME = [...CORE, "src/turn"];
const EDGE = "src/internal-edge.ts";
const SHAPES = ["src/value/parse-shape.ts", "src/value/csv-columns.ts"];
// The object's class and who makes it, which only workerd can load.
const OBJECT = ["src/edge/conversation.ts", "src/edge/create-runtime.ts"];

type Layer = readonly [
  name: string,
  /** Folders and files that it imports, beside itself; of packages, their names. */
  imports: readonly string[],
  /** Starts of the names of packages that it does not import. */
  not: readonly string[],
  /** If types may come from anywhere; those of `src`, for packages, only from its surface. */
  types?: "any types",
];

/** The first whose name a path begins with counts. */
const LAYERS: readonly Layer[] = [
  ["src/value/", [], [...PLATFORM, ...SDK]],
  ["src/reference/", ["src/value"], [...PLATFORM, ...SDK]],
  ["src/store/", ["src/value"], [...PLATFORM, ...SDK]],
  ["src/tool/", CORE, PLATFORM],
  ["src/turn/", RUNTIME, PLATFORM],
  ["src/edge/", RUNTIME, NODE],
  ["plan-formats/", ["plans/plan"], PLATFORM],
  ["plans/plan/", [], PLATFORM],
  ["plans/program/", ["plans/plan"], PLATFORM],
  ["plans/run/", ["plans/plan"], PLATFORM],
  ["plans/", [EDGE, "transfer"], NODE],
  ["providers/", [EDGE], PLATFORM],
  ["transfer/", [EDGE], NODE],
  ["query/object/", [EDGE, "query"], NODE],
  ["query/", [], PLATFORM],
  ["code/loader-sandbox.ts", [EDGE, "code"], ["hono", ...NODE]],
  ["code/", [], PLATFORM],
  ["gateway/agents/", [EDGE, "gateway"], ["node:"]],
  ["gateway/cli/", ["gateway", "adapters/agent", "eval", "query"], ["cloudflare:"]],
  ["gateway/conversation/", [EDGE, "gateway"], ["node:"]],
  ["gateway/bundle/", [EDGE], ["cloudflare:"]],
  ["gateway/page.ts", ["gateway/bundle"], ["cloudflare:"]],
  ["gateway/", ["gateway"], PLATFORM],
  ["adapters/durable", [EDGE, "adapters", "transfer", "query"], ["hono", ...NODE]],
  ["adapters/agent/query-process.ts", ["adapters", "query"], ["hono", "cloudflare:"]],
  ["adapters/", ["query"], PLATFORM, "any types"],
  ["client/", [], [...PLATFORM, ...SDK], "any types"],
  ["testing/demo", [EDGE, "testing"], PLATFORM, "any types"],
  ["testing/", [EDGE, "client", ...OBJECT], ["hono", "node:", "vitest"]],
  ["eval/", [EDGE, "adapters", "providers", "testing"], ["hono", "cloudflare:"]],
  ["page/src/", ["client", "src/references.ts", ...SHAPES], PLATFORM, "any types"],
  ["examples/agents/", [], [...PLATFORM, "byref"]],
];

/** `plans/plan/` is `packages/plans/src/plan/`. */
function pathOf(name: string): string {
  return /^(?:src|page|examples)\//.test(name)
    ? name
    : `packages/${name.replace(/(?=\/)|$/, "/src")}`;
}

/** Each is for those that name it. */
const ENTRY_POINTS = new Set(["byref", "index", "internal-edge"].map((name) => `src/${name}.ts`));
/** For packages only, which import nothing else from the folders of `src`. */
const SURFACE = new Set(["src/internal.ts", "src/runtime.ts"]);

interface Specifier {
  readonly importKind?: string;
}

/** The parts of an ESTree node that the rule reads. */
interface ImportNode {
  readonly source?: { readonly value: string } | null;
  readonly importKind?: string;
  readonly exportKind?: string;
  readonly specifiers?: readonly Specifier[];
}

interface RuleContext {
  readonly filename: string;
  report(finding: { readonly node: ImportNode; readonly message: string }): void;
}

export default {
  meta: { name: "layers" },
  rules: {
    imports: {
      create: (context: RuleContext) => {
        const path = relative(ROOT, context.filename);
        const layer = LAYERS.find(([name]) => path.startsWith(pathOf(name)));
        if (layer === undefined) return {};
        const [own, imports, not, types] = layer;
        const check = (node: ImportNode) => {
          const from = node.source?.value;
          if (from === undefined) return;
          const target = join(dirname(path), from);
          const isOfPackage = path.startsWith("packages/") && target.startsWith("src/");
          if (types !== undefined && !isOfPackage && isOfTypes(node)) return;
          const isFine = from.startsWith(".")
            ? isAllowed(target, pathOf(own), imports)
            : !not.some((name) => from === name || from.startsWith(withEnd(name)));
          if (!isFine) context.report({ node, message: `${pathOf(own)} does not import ${from}.` });
        };
        return {
          ImportDeclaration: check,
          ImportExpression: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
        };
      },
    },
  },
};

function isAllowed(target: string, own: string, imports: readonly string[]): boolean {
  if (SURFACE.has(target)) return own.startsWith("packages/");
  if (/^src\/[^/]+$/.test(target) && !ENTRY_POINTS.has(target)) return true;
  if (target.startsWith(own)) return true;
  return imports
    .map(pathOf)
    .some((name) => target === name || target.startsWith(`${name}/`) || target === `${name}.ts`);
}

/** `hono` is a package with parts, `node:` a scheme, `@ai-sdk/` a scope. */
function withEnd(name: string): string {
  return /[:/]$/.test(name) ? name : `${name}/`;
}

function isOfTypes({ importKind, exportKind, specifiers = [] }: ImportNode): boolean {
  if (importKind === "type" || exportKind === "type") return true;
  return specifiers.length > 0 && specifiers.every((one) => one.importKind === "type");
}
