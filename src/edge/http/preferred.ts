import { parseMediaType } from "../../value/media-type.ts";

/**
 * The offered media type that an `Accept` header prefers: by quality, then an exact type before a range, then
 * the order of the offers (RFC 9110, section 12.5.1). The first offer if none is acceptable. Skips malformed
 * elements. Hono's `accepts` would add 0.7 KiB, and ignores the quality of a range of all types.
 */
export function preferred<Offer extends string>(
  accept: string | null | undefined,
  offers: readonly [Offer, ...Offer[]],
): Offer {
  const qualities = new Map<string, number>();
  for (const element of (accept ?? "").split(",")) {
    const range = parseMediaType(element);
    if (range === undefined || qualities.has(range.essence)) continue;
    qualities.set(range.essence, Number(range.parameters.get("q") ?? 1));
  }
  let [best] = offers;
  let highest = 0;
  for (const offer of offers) {
    const ranges = ["*/*", offer.replace(/\/.*/, "/*"), offer];
    const specificity = ranges.findLastIndex((range) => qualities.has(range));
    const quality = qualities.get(ranges[specificity] ?? "") ?? 0;
    // A quality has three decimals.
    const score = quality > 0 ? quality * 10_000 + specificity : 0;
    if (score > highest) [best, highest] = [offer, score];
  }
  return best;
}
