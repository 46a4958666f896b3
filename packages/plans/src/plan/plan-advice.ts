import { characters, nearest, type Need } from "../../../../src/internal.ts";
import type { SaveTarget } from "../../../../src/internal-tool.ts";
import { formatPath } from "../../../../src/references.ts";
import type { Writers } from "./path-index.ts";
import { STATE } from "./run-names.ts";

const MAX_SOURCE_CHARS = 200;

/** A reference as findings show it. */
export function shown(source: string): string {
  return characters.clip(source, MAX_SOURCE_CHARS);
}

/** Advice for a reference that no call writes: read a similar place, or let a call write this one. */
export function writeAdvice(
  { source, references }: Pick<Need, "source" | "references">,
  targets: readonly (SaveTarget | undefined)[],
): string {
  const places = targets.flatMap((target) => target?.places.map((place) => place.source) ?? []);
  const near = nearest(source, new Set(places));
  if (near.length > 0) return `Did you mean ${near.join(" or ")}?`;
  const [{ name, path } = { name: STATE, path: [] }] = references;
  // A variable is written whole, and the conversation's state by its keys.
  const other = path.findIndex((segment) => !("key" in segment));
  const keys = path.slice(0, other === -1 ? undefined : other);
  const place = name + formatPath(name === STATE ? keys : []);
  return `Give the call that makes it _outputPath "†${shown(place)}".`;
}

/** A call with what it reads, and the calls that write that. */
interface Reader {
  readonly call: { readonly id: string };
  readonly needs: readonly {
    readonly source: string;
    readonly writers: readonly (Writers | undefined)[];
  }[];
}

/** How to break a cycle of calls: by a reference in its first call to a result of the one before it. */
export function cycleAdvice(calls: readonly Reader[], cycle: readonly number[]): string {
  const [reader, maker] = [calls[cycle[0] ?? 0], cycle.at(-2)];
  const isRead = ({ writers }: Reader["needs"][number]) =>
    writers.some((one) =>
      [one?.whole ?? [], one?.parts ?? []].flat().some((by) => by.call === maker),
    );
  const source = shown(reader?.needs.find(isRead)?.source ?? "");
  return `Remove one of the references, such as ${source} in ${reader?.call.id}.`;
}
