import { afterEach, expect, it, vi } from "vitest";
import { environmentFor } from "../src/cli/own-environment.ts";

afterEach(() => vi.unstubAllEnvs());

it.each(["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "WORKSPACE_FOLDER_PATHS"])(
  "a server gets the %s that the client gives the gateway, unless it has its own",
  (name) => {
    vi.stubEnv(name, "/home/me/shop");
    expect(environmentFor({ env: {} })).toHaveProperty(name, "/home/me/shop");
    expect(environmentFor({ env: { [name]: "/own" } })).toHaveProperty(name, "/own");
  },
);

it.each([
  ["win32", { PATH: "/own" }],
  ["linux", { PATH: "/usr/bin", Path: "/own" }],
] as const)("on %s, a server's Path makes %j", (platform, expected) => {
  vi.stubEnv("PATH", "/usr/bin");
  const { PATH, Path } = environmentFor({ env: { Path: "/own" } }, platform);
  expect({ PATH, ...(Path !== undefined && { Path }) }).toEqual(expected);
});
