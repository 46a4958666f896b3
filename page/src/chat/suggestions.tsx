import { useMemo } from "react";
import { useConversation } from "../conversation-context.ts";
import { followUps } from "./follow-ups.ts";
import "./suggestions.css";

interface SuggestionsProps {
  readonly ask: (question: string) => void;
}

/** Offers questions about the variables that exist now. */
export function Suggestions({ ask }: SuggestionsProps) {
  const { variables } = useConversation();
  const questions = useMemo(() => followUps(variables.values()), [variables]);
  if (questions.length === 0) return null;
  return (
    <div className="suggestions" role="group" aria-label="Follow-up questions">
      {questions.map((question) => (
        <button
          key={question}
          type="button"
          className="suggestions-one"
          onClick={() => ask(question)}
        >
          {question}
        </button>
      ))}
    </div>
  );
}
