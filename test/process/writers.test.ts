import { describe, it } from "vitest";
import { useWriteKills } from "../support/write-kills.ts";

describe("a turn resumes after its server is killed just after a client", () => {
  const expectResumed = useWriteKills();

  it.each([
    "writes a new variable",
    "changes a variable's metadata",
    "gives the conversation a title",
  ])("%s", expectResumed);
});
