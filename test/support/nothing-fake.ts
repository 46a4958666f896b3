import { afterEach, vi } from "vitest";

// No test leaves its spies, globals or timers to the next one. Spies come first: one on a fake timer would bring it back.
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
