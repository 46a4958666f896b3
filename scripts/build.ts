/** Makes `dist/`: ES modules and types. The page in `dist/web` is no part of the package. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const built = existsSync("dist") ? readdirSync("dist") : [];
for (const name of built) {
  if (name !== "web") rmSync(join("dist", name), { recursive: true });
}
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
process.exit(status ?? 1);
