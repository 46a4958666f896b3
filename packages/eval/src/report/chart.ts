import { shownInterval } from "./format.ts";
import type { Results } from "./results.ts";

const WIDTH = 700;
const LEFT = 150;
const RIGHT = 240;
const TOP = 44;
const ROW = 26;
const COLORS = ["#6b7280", "#b45309", "#7c3aed", "#0f766e", "#1d4ed8"];

/** Draws the share of the tasks that are right, with its interval for each arm, as a whole SVG document. */
export function chartOf({ arms, about }: Results): string {
  const x = (share: number) => (LEFT + share * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const marks = arms.flatMap(({ arm, right }, index) => {
    if (right === undefined) return [];
    const y = TOP + index * ROW;
    const color = COLORS[index % COLORS.length];
    return [
      `<text x="${LEFT - 10}" y="${y + 4}" text-anchor="end" fill="#374151">${arm}</text>`,
      `<line x1="${x(right.low)}" y1="${y}" x2="${x(right.high)}" y2="${y}" stroke="${color}" stroke-width="2"/>`,
      `<circle cx="${x(right.value)}" cy="${y}" r="5" fill="${color}"/>`,
      `<text x="${WIDTH - RIGHT + 14}" y="${y + 4}" fill="#374151">${shownInterval(right, "share")}</text>`,
    ];
  });
  const height = TOP + arms.length * ROW;
  const title = `Right: ${about.model.replaceAll(/[<>&"]/gu, " ")}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12"><title>${title}</title><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14" font-weight="600" fill="#111827">${title}</text>${marks.join("")}</svg>\n`;
}
