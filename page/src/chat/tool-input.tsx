import { useQuery } from "@tanstack/react-query";
import type { Json } from "../../../src/references.ts";
import { useConversation } from "../conversation-context.ts";
import { received, type Source } from "../references/received.ts";
import { unchanging } from "../queries.ts";
import { figure, messageOf } from "../words.ts";
import { Highlighted } from "./highlighted.tsx";
import type { ToolPart } from "./tool-part.ts";

interface ToolInputProps {
  readonly input: Json | undefined;
  readonly turn: string;
  readonly part: ToolPart;
  readonly sources: readonly Source[];
}

/** Lists each parameter as the model wrote it and as the tool received it. */
export function ToolInput({ input, sources }: ToolInputProps) {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const parameters: readonly (readonly [string, Json])[] = isObject
    ? Object.entries(input)
    : [["", input ?? null]];
  if (parameters.length === 0) return <p className="tool-note">Called without parameters.</p>;
  return (
    <div className="tool-inputs">
      <div className="tool-columns" aria-hidden="true">
        <span className="tool-title">The model wrote</span>
        <span className="tool-title">The tool received</span>
      </div>
      {parameters.map(([name, value]) => (
        <Parameter key={name} name={name} value={value} sources={sources} />
      ))}
    </div>
  );
}

interface ParameterProps {
  readonly name: string;
  readonly value: Json;
  readonly sources: readonly Source[];
}

function Parameter({ name, value, sources }: ParameterProps) {
  const text = JSON.stringify(value, null, 2);
  const own = sources.filter(({ source }) => text.includes(JSON.stringify(source).slice(1, -1)));
  return (
    <div className="tool-parameter">
      {name !== "" && <code className="tool-key">{name}</code>}
      <div className="tool-columns">
        <pre
          className="tool-json"
          role="group"
          tabIndex={0}
          aria-label={`${name}, as the model wrote it`}
        >
          <Highlighted text={text} sources={own.map(({ source }) => source)} />
        </pre>
        {own.length === 0 ? (
          <pre className="tool-json tool-same">the same</pre>
        ) : (
          <ReceivedValue name={name} text={text} sources={own} />
        )}
      </div>
    </div>
  );
}

interface ReceivedValueProps {
  readonly name: string;
  readonly text: string;
  readonly sources: readonly Source[];
}

function ReceivedValue({ name, text, sources }: ReceivedValueProps) {
  const { session, variables } = useConversation();
  const versions = sources.map((source) => variables.get(source.name)?.version ?? 0);
  const { data: value, error } = useQuery({
    queryKey: ["conversation", session.conversation, "received", text, versions],
    queryFn: () => received(session, variables, JSON.parse(text) as Json),
    ...unchanging,
  });
  if (error !== null) return <p className="tool-note">{messageOf(error)}</p>;
  if (value === undefined) return <pre className="tool-json tool-same">…</pre>;
  return (
    <div>
      <pre
        className="tool-json"
        role="group"
        tabIndex={0}
        aria-label={`${name}, as the tool received it`}
      >
        {value.text}
      </pre>
      {value.moreChars > 0 && (
        <p className="tool-note">and {figure(value.moreChars)} characters more</p>
      )}
      {value.problems.map((said) => (
        <p key={said} className="tool-note">
          {said}
        </p>
      ))}
    </div>
  );
}
