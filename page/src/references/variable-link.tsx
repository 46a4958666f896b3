import { Button } from "../controls.tsx";
import { useConversation } from "../conversation-context.ts";

/** The name of a variable. Opens it. */
export function VariableLink({ name }: { readonly name: string }) {
  const { open } = useConversation();
  return (
    <Button className="reference-name" onClick={() => open({ tab: "variables", variable: name })}>
      ${name}
    </Button>
  );
}
