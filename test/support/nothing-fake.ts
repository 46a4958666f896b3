import { afterEach, vi } from "vitest";

// No test leaves its spies, globals or timers to the next one.
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
