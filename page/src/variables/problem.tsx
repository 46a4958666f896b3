import { problemWords } from "../words.ts";

/** Shows an error, and announces it to screen readers. Renders nothing without one. */
export function Problem({ error }: { readonly error: unknown }) {
  if (error == null) return null;
  return (
    <p className="variables-problem" role="alert">
      {problemWords(error)}
    </p>
  );
}
