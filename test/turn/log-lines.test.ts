import { expect, it } from "vitest";
import { recoveryDelayMs } from "../../src/turn/log/recovery.ts";

const recoveredLogWith = (attempts: number, deaths: number) =>
  ({ attempts, deaths, attemptMs: 1_000, steps: 1, entries: [], calls: [] }) as const;

it("a turn whose process survives is retried at once, then with growing delays, whatever the clock says", () => {
  const delays = (nowMs: number) =>
    Array.from({ length: 12 }, (_, attempts) =>
      recoveryDelayMs(recoveredLogWith(attempts, 0), nowMs),
    );
  const seconds = [0, 0, 0, 0, 0, 1, 2, 5, 15, 60, 300, 0];
  expect(delays(1_000)).toEqual(seconds.map((delay) => delay * 1_000));
  // With the clock a day back, and a day ahead.
  expect(delays(-86_400_000)).toEqual(delays(1_000));
  expect(Math.max(...delays(86_400_000))).toBe(0);
});

it("a turn whose process died is retried at once, then after a second in the new process", () => {
  for (const nowMs of [1_000, 86_400_000]) {
    const delays = [1, 2, 3].map((deaths) =>
      recoveryDelayMs(recoveredLogWith(deaths, deaths), nowMs),
    );
    expect(delays).toEqual([0, 1_000, 0]);
  }
});
