import type { VariableInfo } from "../../../src/store/variable.ts";
import { parseShape, type Shape } from "../../../src/value/parse-shape.ts";
import { formatPath } from "../../../src/references.ts";
import { countWords } from "../variables/words.ts";

/** A reference that may be meant. */
export interface Completion {
  readonly reference: string;
  /** What it finds: its size and shape, or its types. */
  readonly about: string;
}

export interface Completions {
  /** Where the reference begins in the text. */
  readonly from: number;
  readonly all: readonly Completion[];
  /** True if what is written is a reference already. */
  readonly isWhole: boolean;
}

type Known = Pick<VariableInfo, "name" | "type" | "count" | "mediaType" | "shape" | "updatedAt">;

const MOST = 8;
const WRITTEN = /(?:^|[^\w$])\$((?:[A-Za-z_]\w*)?)((?:\.\w*|\[[^\]\s]*\]?)*)$/;
const SEGMENT = /\.\w*|\[[^\]\s]*\]?/g;

/** Completes the reference at the end of a text: names, the newest first, and the paths that a shape has. */
export function completionsFor(
  text: string,
  variables: ReadonlyMap<string, Known>,
): Completions | undefined {
  const [found, name = "", path = ""] = WRITTEN.exec(text) ?? [];
  if (found === undefined) return undefined;
  const written = `$${name}${path}`;
  const variable = variables.get(name);
  const segments = path.match(SEGMENT) ?? [];
  const shape = variable && within(parseShape(variable.shape), segments);
  const before = variable && within(parseShape(variable.shape), segments.slice(0, -1));
  const start = `$${name}${segments.slice(0, -1).join("")}`;
  const paths = [
    ...(path === "" ? [] : partsOf(before ?? []).map((part) => [start, part] as const)),
    ...partsOf(shape ?? []).map((part) => [written, part] as const),
  ].map(([base, [part, kinds]]) => ({
    reference: `${base}${part}`,
    about: kinds.map(word).join(" | "),
  }));
  const names = [...variables.values()]
    .filter((one) => path === "" && one.name.toLowerCase().startsWith(name.toLowerCase()))
    .toSorted((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt))
    .map((one) => ({ reference: `$${one.name}`, about: `${countWords(one)} ${one.shape}` }));
  const matches = [...names, ...paths].filter(
    ({ reference }) => reference !== written && reference.startsWith(path === "" ? "$" : written),
  );
  const isWhole = variable !== undefined && (path === "" || shape !== undefined);
  return { from: text.length - written.length, all: matches.slice(0, MOST), isWhole };
}

type Part = readonly [written: string, shape: Shape];

/** What can follow a reference to a value of this shape. */
function partsOf(shape: Shape): readonly Part[] {
  return shape.flatMap((kind): readonly Part[] => {
    if (typeof kind === "string") return [];
    if ("keys" in kind) return kind.keys.map((one) => [formatPath([{ key: one.key }]), one.shape]);
    return [
      ["[*]", kind.elements],
      ["[0]", kind.elements],
      ["[:10]", [kind]],
    ];
  });
}

/** Returns the shape at the end of a path; undefined if there is none. */
function within(shape: Shape, segments: readonly string[]): Shape | undefined {
  const [first, ...others] = segments;
  if (first === undefined) return shape;
  const written = /^\[-?\d+\]$/.test(first) ? "[0]" : first.replace(/^\[-?\d*:-?\d*\]$/, "[:10]");
  const part = partsOf(shape).find(([one]) => one === written);
  return part && within(part[1], others);
}

function word(kind: Shape[number]): string {
  if (typeof kind === "string") return kind;
  return "keys" in kind ? "object" : "list";
}
