/**
 * Lint rule for layers: what each folder imports. Files directly in `src`, such as `errors.ts`, are for all, but
 * for the entry points `byref.ts` and `index.ts`, which are for none. Imports of types count, unless a layer says otherwise.
 */
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** What runs anywhere imports none of these. */
const PLATFORM = ["hono", "cloudflare:", "node:"];
const CORE = ["src/value", "src/reference", "src/store", "src/tool"];
const RUNTIME = [...CORE, "src/turn"];
const GATEWAY = [...CORE, "packages/gateway/src", "packages/mcp/src"];

interface Layer {
  /** Folders and files that it imports, beside itself. */
  readonly imports: readonly string[];
  /** Starts of the names of packages that it does not import. */
  readonly not: readonly string[];
  /** True if types may come from anywhere. */
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
  "packages/plan-formats/src/": {
    imports: [
      ...CORE,
      "src/turn/agent.ts",
      "src/turn/delegate-tool.ts",
      "src/turn/plan.ts",
      "src/turn/sub-turn.ts",
      "packages/plans/src/plan",
    ],
    not: PLATFORM,
  },
  "packages/plans/src/plan/": {
    imports: [...CORE, "src/turn/plan.ts", "src/turn/sub-turn.ts"],
    not: PLATFORM,
  },
  "packages/plans/src/run/": { imports: [...RUNTIME, "packages/plans/src/plan"], not: PLATFORM },
  "packages/plans/src/": {
    imports: [...RUNTIME, "src/edge", "packages/plans/src", "packages/transfer/src"],
    not: ["node:", "cloudflare:test"],
  },
  "packages/mcp/src/mcp-servers": {
    imports: [...RUNTIME, "src/edge", "packages/mcp"],
    not: ["node:"],
  },
  "packages/mcp/src/": { imports: CORE, not: PLATFORM },
  "packages/transfer/src/": {
    imports: [...RUNTIME, "src/edge"],
    not: ["node:", "cloudflare:test"],
  },
  "packages/query/src/object/": {
    imports: [...RUNTIME, "src/edge", "packages/query/src"],
    not: ["node:", "cloudflare:test"],
  },
  "packages/query/src/": { imports: [...CORE, "src/turn/toolbox.ts"], not: PLATFORM },
  "packages/code/src/loader-sandbox.ts": {
    imports: [...CORE, "src/turn/toolbox.ts", "src/edge/app-env.ts", "packages/code/src"],
    not: ["hono", "node:", "cloudflare:test"],
  },
  "packages/code/src/": { imports: [...CORE, "src/turn/toolbox.ts"], not: PLATFORM },
  "packages/gateway/src/cli/": {
    imports: [...GATEWAY, "packages/adapters/src/agent", "packages/eval/src", "packages/query/src"],
    not: ["cloudflare:"],
  },
  "packages/gateway/src/conversation/": {
    imports: [...GATEWAY, "src/turn", "src/edge"],
    not: ["node:"],
  },
  "packages/gateway/src/bundle/": { imports: ["src/edge/settings.ts"], not: ["cloudflare:"] },
  "packages/gateway/src/page.ts": {
    imports: ["packages/gateway/src/bundle"],
    not: ["cloudflare:"],
  },
  "packages/gateway/src/": { imports: GATEWAY, not: PLATFORM },
  "packages/adapters/src/durable": {
    imports: [
      ...CORE,
      "src/edge/platform",
      "packages/adapters/src",
      "packages/transfer/src",
      "packages/query/src",
    ],
    not: ["hono", "node:", "cloudflare:test"],
  },
  "packages/adapters/src/agent/query-process.ts": {
    imports: [...RUNTIME, "packages/adapters/src", "packages/query/src"],
    not: ["hono", "cloudflare:"],
  },
  "packages/adapters/src/": {
    imports: [...RUNTIME, "packages/query/src"],
    not: PLATFORM,
    anyTypes: true,
  },
  "packages/client/src/": {
    imports: ["packages/client/src"],
    not: [...PLATFORM, "ai", "@ai-sdk/", "zod"],
    anyTypes: true,
  },
  "packages/testing/src/demo": {
    imports: [...CORE, "src/turn", "packages/testing/src"],
    not: PLATFORM,
    anyTypes: true,
  },
  "packages/testing/src/": {
    imports: [...RUNTIME, "src/edge", "src/byref.ts", "packages/client/src"],
    not: ["hono", "node:", "vitest"],
  },
  "packages/eval/src/": {
    imports: [...RUNTIME, "src/edge/models", "packages/adapters/src", "packages/testing/src"],
    not: ["hono", "cloudflare:"],
  },
  "page/src/": {
    imports: ["packages/client/src", "src/references.ts", "src/value/parse-shape.ts"],
    not: PLATFORM,
    anyTypes: true,
  },
  "examples/agents/": { imports: [], not: [...PLATFORM, "byref"] },
};

const ENTRY_POINTS = new Set(["src/byref.ts", "src/index.ts"]);

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
          if (from === undefined || (layer.anyTypes === true && isOfTypes(node))) return;
          const isFine = from.startsWith(".")
            ? isAllowed(join(dirname(path), from), own, layer)
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
