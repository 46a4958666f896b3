import { schemaText } from "../../plan/capability/schema-text.ts";
import type { Parameter } from "../../plan/capability/parameter-schemas.ts";
import type { CapabilityTool, CapabilityTools } from "./capability-tools.ts";

/** How a model that has no calls of its own is told to call tools. */
const GUIDE = `You call tools with tags in your answer. The person does not see them. Then end your answer: the results come in the next message, as <capability-result>. Never write a result yourself.
<capability name="tool" parameter="value" output_var="name">content</capability>
Values and bodies are XML: write & as &amp;, < as &lt;, " as &quot;, or a body as <![CDATA[…]]>. Arrays and objects are JSON. output_var saves the result as that variable; it may be left out, as may all parameters with ?. $name or {{name}} hands a variable on. Inside code blocks tags call nothing.
The tools:`;

/** The tools in the system prompt; undefined if there are none. */
export function capabilityGuide(tools: CapabilityTools): string | undefined {
  if (tools.size === 0) return undefined;
  return [GUIDE, ...Array.from(tools.values(), aboutTool)].join("\n\n");
}

function aboutTool(tool: CapabilityTool): string {
  const { description, parameters } = tool;
  const lines = parameters.map((parameter) => aboutParameter(parameter, tool));
  return [sampleOf(tool), ...(description === "" ? [] : [description]), ...lines].join("\n");
}

function sampleOf({ name, parameters, body, needsBody, takesOutput }: CapabilityTool): string {
  const names = parameters.map((parameter) => parameter.name);
  const attributes = needsBody ? [] : names.filter((one) => body === "json" || one !== "content");
  const written = [
    `name="${name}"`,
    ...attributes.map((one) => `${one}="…"`),
    ...(takesOutput ? ['output_var="…"'] : []),
  ];
  const start = `<capability ${written.join(" ")}`;
  if (needsBody) return `${start}>{${names.map((one) => `"${one}": …`).join(", ")}}</capability>`;
  return body === "content" ? `${start}>…</capability>` : `${start} />`;
}

function aboutParameter(
  { name, schema: own, isRequired }: Parameter,
  { schema }: CapabilityTool,
): string {
  const parts = typeof own === "object" ? [own, ...(own.allOf ?? []), ...(own.anyOf ?? [])] : [];
  const [said] = parts.flatMap((part) =>
    typeof part === "object" ? (part.description ?? []) : [],
  );
  const about = said === undefined ? "" : ` // ${said}`;
  return `- ${name}${isRequired ? "" : "?"}: ${schemaText(own, schema)}${about}`;
}
