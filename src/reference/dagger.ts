import { matchReference } from "./grammar.ts";
import { type Alternatives, type Operand, type Syntax, wholeView } from "./reference.ts";

/** `†name.path`; as a whole string also `†a || †b` and `†a && †b`. */
export const dagger: Syntax = {
  name: "dagger",
  opening: "†",
  match: (view) => matchReference(view, view.start + 1),
  alternatives,
};

function alternatives(text: string): Alternatives | undefined {
  const operands: Operand[] = [];
  const operators = new Set<string>();
  let at = 0;
  for (;;) {
    const operand = operandAt(text, at);
    if (operand === undefined) return undefined;
    operands.push(operand.operand);
    if (operand.end === text.length) break;
    at = skipSpaces(text, operand.end);
    const operator = text.slice(at, at + 2);
    if (operator !== "||" && operator !== "&&") return undefined;
    operators.add(operator);
    at = skipSpaces(text, at + 2);
  }
  if (operands.length < 2) return undefined;
  if (operators.size > 1) return { operator: "mixed" };
  return { operator: operators.has("||") ? "first" : "all", operands };
}

function operandAt(text: string, start: number): { operand: Operand; end: number } | undefined {
  if (text[start] !== "†") return undefined;
  const match = dagger.match(wholeView(text, start));
  if (match.kind !== "whole") return undefined;
  const source = text.slice(start, match.end);
  return { operand: { source, reference: match.reference }, end: match.end };
}

function skipSpaces(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\t") at++;
  return at;
}
