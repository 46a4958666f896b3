import { isJsonObject, type Json } from "../value/json.ts";
import type { Reference } from "../reference/reference.ts";
import { needsIn } from "../reference/needs-in.ts";
import type { CallFlow } from "./call-flow.ts";
import { toIdentifier } from "../store/names.ts";
import { saveTargetIn, type Split, splitInput } from "./save-target.ts";
import { nameFor } from "./scoped-store.ts";
import type { CallableTool } from "./tool-call.ts";
import type { CallOptions } from "./wrapped-tool.ts";
import { targetIn } from "./variables/variable-target.ts";

/** Returns the flow of a call. Never throws: an input that cannot be used fails when it is prepared. */
export function flowOf(
  tool: CallableTool,
  written: Json,
  { scope }: Pick<CallOptions, "scope">,
): CallFlow {
  const { options, target } = tool;
  const { store, syntaxes } = options;
  const { input, target: chosen } =
    target === true
      ? orElse<Split>(() => splitInput(written), { input: written })
      : { input: written };
  const wanted = typeof target === "string" ? target : chosen;
  const stored = (name: string) => nameFor(name, store, scope) ?? name;
  const own = tool.names(input);
  const reads = needsIn(input, syntaxes).flatMap(({ source, operator, references }) =>
    references.map((reference) => ({
      ...reference,
      name: stored(reference.name),
      source,
      isNeeded: operator === "all" || references.length === 1,
    })),
  );
  const named = own.read.flatMap((text) => {
    const place = placeIn(text);
    return place === undefined
      ? []
      : [{ ...place, name: stored(place.name), source: `$${place.name}`, isNeeded: true }];
  });
  const places = [...placesIn(wanted), ...own.written.flatMap((text) => placeIn(text) ?? [])];
  const writes = places.map(({ name, path }) => ({ name: stored(name), path }));
  const { base } = own;
  const isNamed = wanted !== undefined || base === undefined;
  const automatic = reads.length === 0 ? [] : [{ prefix: toIdentifier(tool.name) }];
  return {
    reads: [...reads, ...named],
    writes: isNamed ? writes : [...writes, { base }, ...automatic],
  };
}

function placesIn(target: string | undefined): readonly Reference[] {
  return target === undefined ? [] : orElse(() => saveTargetIn(target).places, []);
}

function placeIn(text: string): Reference | undefined {
  return orElse(() => targetIn(text), undefined);
}

/** Returns `otherwise` for an input that cannot be used. */
function orElse<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Returns the texts in parameters that are texts or lists of texts. */
export function textsIn(input: Json, parameters: readonly string[]): readonly string[] {
  if (!isJsonObject(input)) return [];
  return parameters
    .flatMap((parameter) => (Object.hasOwn(input, parameter) ? input[parameter] : []))
    .filter((text) => typeof text === "string");
}
