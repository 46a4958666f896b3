import type { Json } from "../../src/value/json.ts";

/** A host of approvals, and a model that calls a tool with the same reference again and again. */
export interface ApprovalHost {
  /** Saves the value that the reference stands for. It is `FIRST` at the start. */
  save(value: number): Promise<unknown>;
  /** Has the model call the tool. Returns the id of the approval that the call waits for. */
  ask(): Promise<string | undefined>;
  /** Sends a person's decision, with a value in place of the reference. Returns the approval that is open then. */
  answer(id: string, isApproved: boolean, value?: Json): Promise<string | undefined>;
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

/** The same with a person's own value, on hosts whose decisions may have one. */
export const CHANGED_CASES = [
  ["a value of a person's own runs in place of the model's", "approve 1 with 70", [70]],
  ["it runs once", "approve 1 with 70, approve 1 with 70, approve 1 with 80, approve 1", [70]],
  ["it runs once, also after a restart", "approve 1 with 70, restart, approve 1 with 80", [70]],
  ["of two decisions at once with it, one counts", "twice 1 with 70", [70]],
  ["one that the tool refuses does not run", 'approve 1 with "much"', []],
  ["the call still waits then", 'approve 1 with "much", approve 1', [FIRST]],
  ["it may be a reference", 'approve 1 with "$sum"', [FIRST]],
  ["it is not run where another value was shown", "60, approve 1 with 70", []],
  ["a reference to another value is not run, either", '60, approve 1 with "$sum"', []],
  ["with a denial it counts for nothing", "deny 1 with 70, approve 1 with 70", []],
] as const;

/** Plays a case. Errors of refused decisions are ignored: what counts is what has run. */
export async function play(host: ApprovalHost, acts: string): Promise<void> {
  const asked = [await host.ask()];
  for (const act of acts.split(", ").filter(Boolean)) {
    const [how = "", which, , value] = act.split(" ");
    if (/^\d+$/u.test(how)) await host.save(Number(how));
    else if (how === "restart") await host.restart();
    else {
      const id = which === "made-up" ? which : asked[Number(which) - 1];
      if (id === undefined) throw new Error(`There is no approval ${which}.`);
      const written = value === undefined ? undefined : (JSON.parse(value) as Json);
      const answer = () => host.answer(id, how !== "deny", written).catch(() => undefined);
      const next = await Promise.all(how === "twice" ? [answer(), answer()] : [answer()]);
      asked.push(...next.filter((one) => one !== undefined));
    }
  }
}
