import { describe, it } from "vitest";
import { WRITERS } from "../chaos/writers.ts";
import { useWriteKills } from "../support/write-kills.ts";

const KILLS = 16;
const names = Object.keys(WRITERS);
const writers = Array.from({ length: KILLS }, (_, kill) => names[kill % names.length] ?? "");

describe("a turn resumes after its server is killed just after a client", () => {
  const expectResumed = useWriteKills();

  it.each(writers)("%s", expectResumed);
});
