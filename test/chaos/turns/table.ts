import type { Findings } from "./findings.ts";

/** A row of the scorecard. */
interface Row {
  readonly id: string;
  readonly figure: string;
  readonly target: string;
  readonly result: string;
  readonly isMet: boolean;
}

/** Returns the scorecard's rows about crashes, as far as killing processes can show them. */
export function rowsOf(findings: Findings): readonly Row[] {
  const none = (id: string, figure: string): Row => {
    const blamed = findings.blamed(id);
    return { id, figure, target: "0", result: String(blamed), isMet: blamed === 0 };
  };
  return [
    none("R1", "accepted user messages lost"),
    none(
      "R2",
      "shown parts missing, different, or replaced without reset-step; frame ids used twice",
    ),
    none("R3", "tools run again although the model was given their result"),
    windows(findings),
    none("R5", "idempotent calls with more than one key"),
    none("R6", "questions that stand in a history twice"),
    none("R7", "turns that stay open, are given up, or have no answer in the history"),
    ...(["three", "five", "storm"] as const).map((kind) => finished(findings, kind)),
    resumed(findings),
    sinceStart(findings),
    none(
      "R9",
      "answers marked complete but short; streams without a terminal part reported as done",
    ),
    none("R11", "tools run again or turns lost when the model dies at a step"),
    none("R19", "questions and answers that do not alternate"),
    none("stop", "turns that go on after a stop was acknowledged"),
    none("calls", "tool calls without an outcome in a turn that has ended"),
    none("variables", "results without their variable, variables without their result"),
  ];
}

function windows(findings: Findings): Row {
  const all = findings.counted("calls in a window");
  const told = findings.counted("calls in a window, unknown");
  const blamed = findings.blamed("R4");
  return {
    id: "R4",
    figure: "once-only tools run twice · calls cut off that are reported as outcome_unknown",
    target: "0 · 100 %",
    result: `${blamed} · ${share(told, all)}`,
    isMet: blamed === 0 && told === all,
  };
}

/** Rounds down, so that 100 % always means all of them. */
function share(some: number, all: number): string {
  if (all === 0) return "none met";
  return `${Math.floor((100 * some) / all)} % (${some} of ${all})`;
}

const KINDS = {
  three: "turns finished after 3 rapid kills",
  five: "turns finished after 5 rapid kills",
  storm: "turns finished, or explicitly closed, after a storm of 20 kills",
} as const;

function finished(findings: Findings, kind: keyof typeof KINDS): Row {
  const done = findings.counted(`${kind} finished`);
  const closed = findings.counted(`${kind} closed`);
  const all = done + closed + findings.counted(`${kind} none`);
  const good = kind === "storm" ? done + closed : done;
  const how = kind === "storm" && all > 0 ? `, ${closed} of them closed` : "";
  return {
    id: "R7",
    figure: KINDS[kind],
    target: "100 %",
    result: `${share(good, all)}${how}`,
    isMet: good === all,
  };
}

const RESUMED_MEDIAN_MS = 1_500;
const RESUMED_WORST_MS = 4_000;
/** Of fewer, some have waited because of the kills before: their times are shown, not judged. */
const MIN_JUDGED = 20;

function resumed(findings: Findings): Row {
  const [median, worst] = spread(findings.resumedMs);
  const missed = findings.blamed("R8");
  const isFew = findings.resumedMs.length < MIN_JUDGED;
  return {
    id: "R8",
    figure: "open port to a turn resumed with no client asking, median, worst",
    target: "1,500 ms, 4,000 ms",
    result: `${median} ms, ${worst} ms of ${findings.resumedMs.length}${missed > 0 ? `; ${missed} never` : ""}`,
    isMet: missed === 0 && (isFew || (median <= RESUMED_MEDIAN_MS && worst <= RESUMED_WORST_MS)),
  };
}

/** Mostly the start of Node and Miniflare, which a deployed Worker does not need. */
function sinceStart({ sinceStartMs }: Findings): Row {
  const [median, worst] = spread(sinceStartMs);
  return {
    id: "",
    figure: "the same from the start of the process, that of Node and Miniflare included",
    target: "",
    result: `${median} ms, ${worst} ms`,
    isMet: true,
  };
}

function spread(times: readonly number[]): readonly [median: number, worst: number] {
  const sorted = times.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return [Math.round(median), Math.round(sorted.at(-1) ?? 0)];
}
