import { useConversation } from "../conversation-context.ts";
import { handleIn } from "../variables/handle.ts";
import { JsonTree } from "../variables/json-tree.tsx";
import { markOfCall, type PlannedCall } from "./call-state.ts";
import { MarkLabel } from "./mark.tsx";
import { Fact } from "../fact.tsx";

/** Details of a plan's call: its input and output. */
export function CallDetails({ call }: { readonly call: PlannedCall }) {
  const { _id, _tool, _outputPath, _after = [], after, input, reason, gate, asked, output } = call;
  const before = [...after, ..._after];
  return (
    <section className="plans-details" aria-label={`Step ${_id}`} aria-live="polite">
      <header>
        <h3>{_tool}</h3>
        <MarkLabel mark={markOfCall(call)} />
      </header>
      <dl>
        <Fact name="Step">{_id}</Fact>
        <Fact name="Writes">{_outputPath}</Fact>
        <Fact name="Depends on">{before.length === 0 ? undefined : before.join(", ")}</Fact>
        <Fact name="Gate">{gate}</Fact>
        <Fact name="Reason">{reason}</Fact>
      </dl>
      {output === undefined ? null : (
        <>
          <h4>Output</h4>
          <CallOutput output={output} />
        </>
      )}
      <h4>Input</h4>
      <JsonTree value={input} />
      {asked === undefined ? null : (
        <>
          <h4>What would run</h4>
          <pre className="plans-asked" tabIndex={0}>
            {asked}
          </pre>
        </>
      )}
    </section>
  );
}

type Output = NonNullable<PlannedCall["output"]> | null;

/** Shows the output, or the variable that holds it. */
function CallOutput({ output }: { readonly output: Output }) {
  const { openVariable } = useConversation();
  const { name = "", size, preview, visibility } = handleIn(output) ?? {};
  // An output can have more fields than those of a handle. Then all are shown.
  const about = size ?? visibility;
  if (about === undefined) return <JsonTree value={output} />;
  return (
    <>
      <p className="plans-output">
        <button type="button" onClick={() => openVariable(name)}>
          ${name}
        </button>
        <span>{about}</span>
      </p>
      {preview === undefined ? null : (
        <pre className="plans-asked" tabIndex={0}>
          {preview}
        </pre>
      )}
    </>
  );
}
