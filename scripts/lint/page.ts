/**
 * Lint rule for the page. React calls the return value of an effect as its cleanup, so an effect with an expression
 * body breaks when that expression begins to return a value. In current Chromium `scrollTo` returns a Promise, which
 * made the page blank.
 */
const message =
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

type Report = (finding: { readonly node: Node; readonly message: string }) => void;

const create = (context: { readonly report: Report }) => ({
  CallExpression(node: Node) {
    const { name = "" } = node.callee?.property ?? node.callee ?? {};
    if (!/^use(?:Layout|Insertion)?Effect$/.test(name)) return;
    const [effect] = node.arguments ?? [];
    const hasBlock = effect?.body?.type === "BlockStatement" && effect.async !== true;
    if (!hasBlock) context.report({ node, message });
  },
});

export default { meta: { name: "page" }, rules: { "effect-body": { create } } };
