import { chartsOf, escapedXml } from "./chart.ts";
import type { Results } from "./results.ts";
import { notesOf, type Table, tablesOf } from "./tables.ts";

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;color:#111827;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-size:13px}th,td{border:1px solid #e5e7eb;padding:.3rem .6rem;text-align:left}
th{background:#f9fafb}figure{margin:1rem 0}svg{max-width:100%;height:auto}.scroll{overflow-x:auto}`;

/** Prints the results as one HTML page that loads nothing. */
export function page(results: Results): string {
  const { model } = results.about;
  const notes = notesOf(results).map((note) => `<p>${escapedXml(note)}</p>`);
  const charts = chartsOf(results).map(({ svg }) => `<figure>${svg}</figure>`);
  const tables = tablesOf(results).map(tableOf);
  const failures = tableOf(failureTable(results));
  const title = `Byref evaluation: ${model}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapedXml(title)}</title><style>${STYLE}</style></head>
<body><h1>${escapedXml(title)}</h1>
${[...notes, ...charts, ...tables, failures].join("\n")}
</body></html>
`;
}

const MAX_FAILURES = 200;

/** Table of wrong answers, so that a reader can judge the tasks. */
function failureTable({ cells }: Results): Table {
  const failed = cells.filter(({ isRight }) => !isRight);
  return {
    title: `Not right: ${failed.length} of ${cells.length}`,
    head: ["task", "arm", "why"],
    rows: failed.slice(0, MAX_FAILURES).map(({ task, arm, why = "" }) => [task, arm, why]),
  };
}

function tableOf({ title, head, rows }: Table): string {
  const row = (cells: readonly string[], tag: "th" | "td") =>
    `<tr>${cells.map((cell) => `<${tag}>${escapedXml(cell)}</${tag}>`).join("")}</tr>`;
  return `<h2>${escapedXml(title)}</h2>
<div class="scroll"><table>${row(head, "th")}${rows.map((cells) => row(cells, "td")).join("")}</table></div>`;
}
