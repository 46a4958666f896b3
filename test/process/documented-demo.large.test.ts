import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandsIn, documents, isAsShown } from "../support/documented-commands.ts";

it("the demo prints the documented output", () => {
  const shown = documents()
    .flatMap(commandsIn)
    .flatMap(({ command, shown = "" }) => (command === "npm run demo" ? [shown] : []));
  expect(shown).not.toEqual([]);
  const { PATH = "", HOME = "" } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, ["scripts/demo.ts"], {
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH, HOME },
    encoding: "utf8",
  });
  const untrue = shown.filter((text) => !isAsShown(text, stdout));
  expect(untrue, `${stdout}${stderr}`).toEqual([]);
});
