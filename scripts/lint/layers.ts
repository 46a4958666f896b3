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
const CORE = ["src/value", "src/reference", "src/store", "src/tool"];
const RUNTIME = [...CORE, "src/turn"];
const ON_WORKERS = ["node:", "cloudflare:test"];
const EDGE = "src/internal-edge.ts";
const SHAPES = ["src/value/parse-shape.ts", "src/value/csv-columns.ts"];
const GATEWAY = ["packages/gateway/src", "packages/mcp/src"];

interface Layer {
  /** Folders and files that it imports, beside itself. */
  readonly imports: readonly string[];
  /** Starts of the names of packages that it does not import. */
  readonly not: readonly string[];
  /** True if types may come from anywhere; those of `src`, for packages, only from its surface. */
  readonly anyTypes?: boolean;
}

/** The first whose name a path begins with counts. */
const LAYERS: Readonly<Record<string, Layer>> = {
  "src/value/": { imports: [], not: [...PLATFORM, "ai", "@ai-sdk/", "zod"] },
  "src/reference/": { imports: ["src/value"], not: [...PLATFORM, "ai", "@ai-sdk/", "zod"] },
  "src/store/": { imports: ["src/value"], not: [...PLATFORM, "ai", "@ai-sdk/", "zod"] },
  "src/tool/": { imports: CORE, not: PLATFORM },
  "src/turn/": { imports: RUNTIME, not: PLATFORM },
  "src/edge/": { imports: RUNTIME, not: ["node:", "cloudflare:test"] },
  "packages/plan-formats/src/": { imports: ["packages/plans/src/plan"], not: PLATFORM },
  "packages/plans/src/plan/": { imports: [], not: PLATFORM },
  "packages/plans/src/program/": { imports: ["packages/plans/src/plan"], not: PLATFORM },
  "packages/plans/src/run/": { imports: ["packages/plans/src/plan"], not: PLATFORM },
  "packages/plans/src/": { imports: [EDGE, "packages/transfer/src"], not: ON_WORKERS },
  "packages/mcp/src/mcp-servers": { imports: [EDGE, "packages/mcp/src"], not: ["node:"] },
  "packages/mcp/src/": { imports: [], not: PLATFORM },
  "packages/transfer/src/": { imports: [EDGE], not: ON_WORKERS },
  "packages/query/src/object/": { imports: [EDGE, "packages/query/src"], not: ON_WORKERS },
  "packages/query/src/": { imports: [], not: PLATFORM },
  "packages/code/src/loader-sandbox.ts": {
    imports: [EDGE, "packages/code/src"],
    not: ["hono", ...ON_WORKERS],
  },
  "packages/code/src/": { imports: [], not: PLATFORM },
  "packages/gateway/src/cli/": {
    imports: [...GATEWAY, "packages/adapters/src/agent", "packages/eval/src", "packages/query/src"],
    not: ["cloudflare:"],
  },
  "packages/gateway/src/conversation/": { imports: [EDGE, ...GATEWAY], not: ["node:"] },
  "packages/gateway/src/bundle/": { imports: [EDGE], not: ["cloudflare:"] },
  "packages/gateway/src/page.ts": {
    imports: ["packages/gateway/src/bundle"],
    not: ["cloudflare:"],
  },
  "packages/gateway/src/": { imports: GATEWAY, not: PLATFORM },
  "packages/adapters/src/durable": {
    imports: [EDGE, "packages/adapters/src", "packages/transfer/src", "packages/query/src"],
    not: ["hono", ...ON_WORKERS],
  },
  "packages/adapters/src/agent/query-process.ts": {
    imports: ["packages/adapters/src", "packages/query/src"],
    not: ["hono", "cloudflare:"],
  },
  "packages/adapters/src/": { imports: ["packages/query/src"], not: PLATFORM, anyTypes: true },
  "packages/client/src/": {
    imports: [],
    not: [...PLATFORM, "ai", "@ai-sdk/", "zod"],
    anyTypes: true,
  },
  "packages/testing/src/demo": {
    imports: [EDGE, "packages/testing/src"],
    not: PLATFORM,
    anyTypes: true,
  },
  "packages/testing/src/": {
    // The object's class and who makes it, which only workerd can load.
    imports: [
      EDGE,
      "packages/client/src",
      "src/edge/conversation.ts",
      "src/edge/create-runtime.ts",
    ],
    not: ["hono", "node:", "vitest"],
  },
  "packages/eval/src/": {
    imports: [EDGE, "packages/adapters/src", "packages/testing/src"],
    not: ["hono", "cloudflare:"],
  },
  "page/src/": {
    imports: ["packages/client/src", "src/references.ts", ...SHAPES],
    not: PLATFORM,
    anyTypes: true,
  },
  "examples/agents/": { imports: [], not: [...PLATFORM, "byref"] },
};

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
        const [own, layer] = Object.entries(LAYERS).find(([name]) => path.startsWith(name)) ?? [];
        if (own === undefined || layer === undefined) return {};
        const check = (node: ImportNode) => {
          const from = node.source?.value;
          if (from === undefined) return;
          const target = join(dirname(path), from);
          const isOfPackage = path.startsWith("packages/") && target.startsWith("src/");
          if (layer.anyTypes === true && !isOfPackage && isOfTypes(node)) return;
          const isFine = from.startsWith(".")
            ? isAllowed(target, own, layer)
            : !layer.not.some((name) => from === name || from.startsWith(withEnd(name)));
          if (!isFine) context.report({ node, message: `${own} does not import ${from}.` });
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

function isAllowed(target: string, own: string, { imports }: Layer): boolean {
  if (SURFACE.has(target)) return own.startsWith("packages/");
  if (/^src\/[^/]+$/.test(target) && !ENTRY_POINTS.has(target)) return true;
  if (target.startsWith(own)) return true;
  return imports.some(
    (name) => target === name || target.startsWith(`${name}/`) || target === `${name}.ts`,
  );
}

/** `hono` is a package with parts, `node:` a scheme, `@ai-sdk/` a scope. */
function withEnd(name: string): string {
  return /[:/]$/.test(name) ? name : `${name}/`;
}

function isOfTypes({ importKind, exportKind, specifiers = [] }: ImportNode): boolean {
  if (importKind === "type" || exportKind === "type") return true;
  return specifiers.length > 0 && specifiers.every((one) => one.importKind === "type");
}
