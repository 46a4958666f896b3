import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import { WriteKills } from "../chaos/turns/write-kills.ts";
import { WRITERS } from "../chaos/writers.ts";
import { temporaryFolder } from "./server.ts";

/**
 * Opens a server for the tests of one file. Returns a function that kills it after a write and expects the
 * turn to resume.
 */
export function useWriteKills(): (writer: string) => Promise<void> {
  const stateDir = temporaryFolder();
  let kills: WriteKills;
  beforeAll(async () => {
    kills = await WriteKills.open(stateDir);
  });
  afterAll(async () => {
    await kills.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return async (writer) => {
    const ms = await kills.resumedMs(WRITERS[writer] ?? (() => Promise.reject(new Error(writer))));
    expect(ms).toBeDefined();
  };
}
