import type { Finding, Plan } from "./plan.ts";
import type { ParameterText } from "./parameter-texts.ts";
import { GATES } from "./run-names.ts";

/** What somebody means as a gate, whether it is written rightly or not. */
const MENTION = /(?<!\\)†\s*approvals(?!\w)/gu;
/** One that is written rightly; no word goes on behind it. */
const GATE =
  /†approvals(?:\.\w+|\["[^"\\]*"\]|\['[^'\\]*'\])(?![^\s,;:!?)\]}"'†|&]*[\p{L}\p{N}_*[])/uy;

/** Gates in a text that would stand open, because they are none: told of, so that none is relied on. */
export function gateFindings(
  { text, path, needs }: ParameterText,
  { format }: Plan,
): readonly Omit<Finding, "call">[] {
  const gates = needs.flatMap(({ references }) => references.filter(({ name }) => name === GATES));
  const isOneKey = gates.every(({ path: keys }) => {
    const [first] = keys;
    return keys.length === 1 && first !== undefined && "key" in first;
  });
  const isRight = isOneKey && (format !== "json" || areGates(text, gates.length));
  if (isRight) return [];
  const message = `A gate is written †${GATES}.name, the name one word of letters, digits and underscores, nothing behind it.`;
  return [{ code: "bad_reference", at: path.join("."), message }];
}

/** Is each place that looks like one a gate, and read as a reference? */
function areGates(text: string, count: number): boolean {
  const mentions = Array.from(text.matchAll(MENTION), ({ index }) => index);
  return mentions.length <= count && mentions.every((index) => isGateAt(text, index));
}

function isGateAt(text: string, index: number): boolean {
  GATE.lastIndex = index;
  return GATE.test(text);
}
