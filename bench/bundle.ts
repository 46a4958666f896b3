/**
 * Measures bundle sizes with `wrangler deploy --dry-run --minify`: `npm run bench -- bundle`. Covers the
 * smallest Worker with its own model and tool, of Byref and of the peers, and Byref's deployable Worker.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePage } from "../scripts/page.ts";
import { plainRow, report } from "./results.ts";
import { withPeers } from "./sides.ts";
import { type Spread, spreadOf } from "./statistics.ts";

const root = join(import.meta.dirname, "..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

function gzipKiB(config: string): number {
  const folder = mkdtempSync(join(tmpdir(), "byref-bundle-"));
  try {
    const parameters = ["deploy", "--config", config, "--dry-run", "--minify", "--outdir", folder];
    const output = execFileSync(process.execPath, [wrangler, ...parameters], {
      cwd: root,
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
    });
    const [, size] = /gzip: ([\d.]+) KiB/u.exec(output) ?? [];
    if (size === undefined) throw new Error(`wrangler did not say a size:\n${output}`);
    return Number(size);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await ensurePage();
const smallest = gzipKiB("scripts/bundle/wrangler.toml");
const peers: Readonly<Record<string, Spread>> = withPeers
  ? Object.fromEntries(
      ["ai-chat", "think"].map((name) => [
        name,
        spreadOf([gzipKiB(`bench/peers/bundle/${name}.toml`)]),
      ]),
    )
  : {};
const sides = { ours: spreadOf([smallest]), ...peers };
const unit = "KiB gzip";
const chat = peers["ai-chat"];
const against =
  chat === undefined
    ? []
    : [
        plainRow(
          {
            name: "bundle: createRuntime, against ai-chat",
            value: smallest / chat.median,
            unit: "times",
            against: "ai-chat",
          },
          0.6,
        ),
      ];
report({
  rows: [
    plainRow({ name: "bundle: createRuntime", value: smallest, unit, sides }),
    ...against,
    plainRow({ name: "bundle: deployable", value: gzipKiB("wrangler.toml"), unit }),
  ],
});
