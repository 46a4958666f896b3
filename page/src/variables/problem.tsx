import { problemWords } from "./problem-words.ts";

/** What has gone wrong, told at once also to who does not see it; nothing if nothing has. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error == null) return null;
  return (
    <p className="variables-problem" role="alert">
      {problemWords(error)}
    </p>
  );
}
