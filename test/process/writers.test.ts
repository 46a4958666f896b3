import { describe, it } from "vitest";
import { useWriteKills } from "../support/write-kills.ts";

describe("a turn whose server is killed goes on by itself when a client, just before,", () => {
  const expectResumed = useWriteKills();

  it.each([
    "writes a new variable",
    "changes a variable's metadata",
    "gives the conversation a title",
  ])("%s", expectResumed);
});
