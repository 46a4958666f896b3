/**
 * Lint rules for the page. React calls the return value of an effect as its cleanup, so an effect with an
 * expression body breaks when that expression begins to return a value. In current Chromium `scrollTo`
 * returns a Promise, which made the page blank.
 */
const EFFECTS = new Set(["useEffect", "useLayoutEffect", "useInsertionEffect"]);

const MESSAGE =
  "React calls what an effect returns. Give it a function with a block for a body, which is not async.";

/** The parts of an ESTree node that the rule reads. */
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly async?: boolean;
  readonly callee?: Node;
  readonly property?: Node;
  readonly body?: Node;
  readonly arguments?: readonly Node[];
}

interface RuleContext {
  report(finding: { readonly node: Node; readonly message: string }): void;
}

export default {
  meta: { name: "page" },
  rules: {
    "effect-body": {
      create: (context: RuleContext) => ({
        CallExpression: (node: Node) => {
          const name = (node.callee?.property ?? node.callee)?.name ?? "";
          if (EFFECTS.has(name) && !hasBlock(node.arguments?.[0]))
            context.report({ node, message: MESSAGE });
        },
      }),
    },
  },
};

function hasBlock(effect: Node | undefined): boolean {
  return effect?.body?.type === "BlockStatement" && effect.async !== true;
}
