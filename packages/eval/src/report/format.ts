import type { Interval } from "../statistics/bootstrap.ts";

/** How a column prints its values. */
export type Unit = "share" | "number" | "dollars";

/** Prints a value; with its interval if it has one. */
export function shownInterval(interval: Interval | undefined, unit: Unit): string {
  if (interval === undefined) return "–";
  const { value, low, high } = interval;
  const own = shownValue(value, unit);
  if (low === high) return own;
  return `${own} (${shownValue(low, unit)} to ${shownValue(high, unit)})`;
}

export function shownValue(value: number, unit: Unit): string {
  switch (unit) {
    case "share":
      return `${shownNumber(value * 100)} %`;
    case "dollars":
      return `$${shownNumber(value)}`;
    case "number":
      return shownNumber(value);
  }
}

/** Three significant digits; numbers from a hundred on are whole. */
function shownNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
