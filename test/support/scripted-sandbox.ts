import type { SandboxJob, SandboxRun } from "../../packages/code/src/sandbox.ts";

/** Result of a script that specifies nothing else. */
const NOTHING: SandboxRun = { assigned: [], console: "" };

/**
 * A sandbox that runs no code. The script provides the result, so it can return what no real sandbox does,
 * and call back at the wrong time.
 */
export function scriptedSandbox(
  script: (job: SandboxJob) => Partial<SandboxRun> | Promise<Partial<SandboxRun>>,
) {
  const jobs: SandboxJob[] = [];
  return {
    /** Received jobs, oldest first. */
    jobs,
    run: async (job: SandboxJob): Promise<SandboxRun> => {
      jobs.push(job);
      return { ...NOTHING, ...(await script(job)) };
    },
  };
}

/** Returns a sandbox whose code returns the value and assigns the others. */
export function giving(returned: unknown, assigned: Readonly<Record<string, unknown>> = {}) {
  const pairs = Object.entries(assigned).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  return scriptedSandbox(() => ({ returned: JSON.stringify(returned), assigned: pairs }));
}
