/** What a run writes, in this folder; git ignores it. */
export const LOCAL_RESULTS = "results.local.json";
/** What the documents quote. Only a whole run beside the peers replaces it. */
export const PUBLISHED_RESULTS = "results.json";

const QUICK = ["bundle", "references", "prompt", "written-rows", "loop"];
const FULL = [...QUICK, "many", "scale", "memory", "growth", "profile", "proofs", "dollars"];
/** They only print, and take gigabytes of writes and minutes. */
const OTHERS = ["turns-memory"];

/** What one run of `bench/main.ts` does. */
export interface Selection {
  readonly benches: readonly string[];
  /** Passed on to each bench. */
  readonly options: readonly string[];
  readonly isBesidePeers: boolean;
  /** False where benches were named: then they only print. */
  readonly isRecorded: boolean;
  /** True where the run replaces the tracked figures, the charts and the tables. */
  readonly isPublished: boolean;
}

/** Reads the command line. Throws where it names a bench that does not exist. */
export function selectionOf(given: readonly string[]): Selection {
  const named = given.filter((argument) => !argument.startsWith("--"));
  const known = [...FULL, ...OTHERS];
  for (const name of named) {
    if (known.includes(name)) continue;
    throw new Error(`There is no bench ${name}; there are ${known.join(", ")}.`);
  }
  const isBesidePeers = given.includes("--peers");
  const isRecorded = named.length === 0;
  const isQuick = given.includes("--quick") || (isRecorded && !isBesidePeers);
  const others = given.filter((argument) => argument.startsWith("--") && argument !== "--quick");
  return {
    benches: isRecorded ? (isBesidePeers ? FULL : QUICK) : named,
    options: isQuick ? [...others, "--quick"] : others,
    isBesidePeers,
    isRecorded,
    isPublished: isRecorded && isBesidePeers && !isQuick,
  };
}
