import { Bars } from "../controls.tsx";
import { figure } from "../words.ts";
import { type Cost, WOULD_NOT_FIT } from "./turn-costs.ts";

/** The prompt, and the one without references. One that is larger than the context window fills its bar. */
export function TokenBars({ cost }: { readonly cost: Omit<Cost, "rowsWritten"> }) {
  const { tokens, promptChars, inlinePromptChars, wouldNotFit } = cost;
  const { sent, inline, isReported } = tokens;
  const words = (count: number, chars: number, isEstimate: boolean) => (
    <>
      {isEstimate && "≈ "}
      {figure(count)} tokens <span>{figure(chars)} characters</span>
    </>
  );
  const whole = wouldNotFit > 0 ? WOULD_NOT_FIT : words(inline, inlinePromptChars, true);
  return <Bars sent={[sent, words(sent, promptChars, !isReported)]} whole={[inline, whole]} />;
}
