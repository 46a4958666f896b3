import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { Pace } from "../src/models/patient.ts";

/** Creates a clock that advances only by waiting. */
function clock() {
  let time = 0;
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
    time += ms;
  };
  return { waits, waiting: { now: () => time, sleep, jitter: () => 0 } };
}

function refusal(headers: Record<string, string> = {}, statusCode = 429): APICallError {
  const call = { message: "Too many.", url: "", requestBodyValues: {} };
  return new APICallError({ ...call, statusCode, responseHeaders: headers });
}

function failing(times: number, error: unknown): () => Promise<string> {
  let left = times;
  return async () => {
    if (left-- > 0) throw error;
    return "answer";
  };
}

describe("a pace", () => {
  it("waits twice as long each time", async () => {
    const { waits, waiting } = clock();
    expect(await new Pace(waiting).run(failing(4, refusal()))).toBe("answer");
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  it.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after-ms": "30" }, 30],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" }, 9_000],
    [{ "retry-after": "soon" }, 1_000],
  ])("follows the header %j", async (headers, ms) => {
    const { waits, waiting } = clock();
    await new Pace(waiting).run(failing(1, refusal(headers)));
    expect(waits).toEqual([ms]);
  });

  it("delays other calls while it waits", async () => {
    const { waits, waiting } = clock();
    const pace = new Pace(waiting);
    await Promise.all([
      pace.run(failing(1, refusal({ "retry-after": "5" }))),
      pace.run(failing(0, refusal())),
    ]);
    await pace.run(failing(0, refusal()));
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(5_000);
  });

  it("gives up after eight attempts, or if it would have to wait for hours", async () => {
    const { waiting } = clock();
    await expect(new Pace(waiting).run(failing(99, refusal()))).rejects.toThrow("failed 8 times");
    const hours = refusal({ "retry-after": "7200" });
    await expect(new Pace(waiting).run(failing(1, hours))).rejects.toThrow("120 minutes");
  });

  it("does not repeat calls that cannot succeed", async () => {
    const { waits, waiting } = clock();
    await expect(new Pace(waiting).run(failing(1, refusal({}, 401)))).rejects.toThrow("Too many.");
    expect(waits).toEqual([]);
  });
});
