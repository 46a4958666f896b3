/** A host of approvals, and a model that calls a tool with the same reference again and again. */
export interface ApprovalHost {
  /** Saves the value that the reference stands for. It is `FIRST` at the start. */
  save(value: number): Promise<unknown>;
  /** Has the model call the tool. Returns the id of the approval that the call waits for. */
  ask(): Promise<string | undefined>;
  /** Sends a person's decision. Returns the approval that is open then. */
  answer(id: string, isApproved: boolean): Promise<string | undefined>;
  /** Drops what is in memory. */
  restart(): Promise<unknown>;
}

export const FIRST = 50;

/**
 * What is approved is what runs, and a decision counts once: a rule, what happens after a call with `FIRST` has asked
 * for approval, and the values that the tool has then received. A number changes the value; the approvals are 1 and 2.
 */
export const APPROVAL_CASES = [
  ["nothing runs before it is approved", "", []],
  ["a call runs as it was approved", "approve 1", [FIRST]],
  ["an approval counts once", "approve 1, approve 1", [FIRST]],
  ["of two approvals at once, one counts", "twice 1", [FIRST]],
  ["an approval counts once, also after a restart", "approve 1, restart, approve 1", [FIRST]],
  ["a denied call does not run", "deny 1", []],
  ["a denial is final", "deny 1, approve 1", []],
  ["a denial is final, also after a restart", "deny 1, restart, approve 1", []],
  ["another value needs another approval", "60, approve 1", []],
  ["another value needs another approval after a restart", "60, restart, approve 1", []],
  ["another value runs when it is approved", "60, approve 1, approve 2", [60]],
  ["a value that changes again is asked about again", "60, approve 1, 70, approve 2", []],
  ["a value that is the same again was approved", "60, 50, approve 1", [FIRST]],
  ["a made-up approval counts for nothing", "approve made-up", []],
] as const;

/** Plays a case. Errors of refused decisions are ignored: what counts is what has run. */
export async function play(host: ApprovalHost, acts: string): Promise<void> {
  const asked = [await host.ask()];
  for (const act of acts.split(", ").filter(Boolean)) {
    const [how = "", which] = act.split(" ");
    if (/^\d+$/u.test(how)) await host.save(Number(how));
    else if (how === "restart") await host.restart();
    else {
      const id = which === "made-up" ? which : asked[Number(which) - 1];
      if (id === undefined) throw new Error(`There is no approval ${which}.`);
      const answer = () => host.answer(id, how !== "deny").catch(() => undefined);
      const next = await Promise.all(how === "twice" ? [answer(), answer()] : [answer()]);
      asked.push(...next.filter((one) => one !== undefined));
    }
  }
}
