const byName = new Map<string, Set<string>>();

/**
 * Other ways to write a country: its English name for a code, its codes for the name. Empty for anything
 * else.
 */
export function namesOfRegion(text: string): readonly string[] {
  if (byName.size === 0) readRegions();
  const names = byName.get(text.toLowerCase()) ?? new Set<string>();
  return [...names].filter((name) => name.toLowerCase() !== text.toLowerCase());
}

/** Reads them at the first question: a Worker has little time to start. */
function readRegions(): void {
  const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const first of letters) {
    for (const second of letters) {
      const code = first + second;
      const name = names.of(code);
      // ICU still has codes of countries that have another one now. Many write UK for GB.
      const isCurrent = new Intl.Locale(`und-${code}`).region === code || code === "UK";
      if (name === undefined || !isCurrent) continue;
      const all = byName.get(name.toLowerCase()) ?? new Set([name]);
      all.add(code);
      byName.set(name.toLowerCase(), all).set(code.toLowerCase(), all);
    }
  }
  const states = byName.get("us");
  if (states !== undefined) byName.set("usa", states.add("USA"));
}
