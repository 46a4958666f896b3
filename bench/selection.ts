/** The results of each run, in this folder; git ignores the file. */
export const LOCAL_RESULTS = "results.local.json";
/** The results that the documents quote. Only a complete run with the peers replaces them. */
export const PUBLISHED_RESULTS = "results.json";

const BENCHES = [
  "bundle",
  "prompt",
  "long-talk",
  "on-demand",
  "written-rows",
  "loop",
  "saturation",
  "cold-start",
  "scale",
  "queries",
  "programs",
  "gateway",
];

/** The benches and options of one run of `bench/main.ts`. */
export interface Selection {
  readonly benches: readonly string[];
  /** Passed to each bench. */
  readonly options: readonly string[];
  readonly isBesidePeers: boolean;
  /** False if benches are named: then they only print. */
  readonly isRecorded: boolean;
  /** True if the run replaces the tracked figures and the tables. */
  readonly isPublished: boolean;
}

/** Reads the command line. Throws if it names an unknown bench. */
export function selectionOf(given: readonly string[]): Selection {
  const named = given.filter((argument) => !argument.startsWith("--"));
  for (const name of named) {
    if (BENCHES.includes(name)) continue;
    throw new Error(`There is no bench ${name}; there are ${BENCHES.join(", ")}.`);
  }
  const isBesidePeers = given.includes("--peers");
  const isRecorded = named.length === 0;
  const isQuick = given.includes("--quick") || (isRecorded && !isBesidePeers);
  const others = given.filter((argument) => argument.startsWith("--") && argument !== "--quick");
  return {
    benches: isRecorded ? BENCHES : named,
    options: isQuick ? [...others, "--quick"] : others,
    isBesidePeers,
    isRecorded,
    isPublished: isRecorded && isBesidePeers && !isQuick,
  };
}
