import { describe, it } from "vitest";
import { WRITERS } from "../chaos/writers.ts";
import { useWriteKills } from "../support/write-kills.ts";

const KILLS = 16;
const names = Object.keys(WRITERS);
const writers = Array.from({ length: KILLS }, (_, kill) => names[kill % names.length] ?? "");

describe("a turn whose server is killed goes on by itself when a client, just before,", () => {
  const expectResumed = useWriteKills();

  it.each(writers)("%s", expectResumed);
});
