import type { InputRequest } from "@modelcontextprotocol/server";
import { QUESTIONS } from "./client-of-gateway.ts";

/**
 * Returns a server's question for the client. A person is shown which server asks, because the client only knows
 * the gateway. A model gets nothing of the other servers, which a client would take for the gateway's own.
 */
export function questionFrom(server: string, question: InputRequest): InputRequest {
  switch (question.method) {
    case QUESTIONS.elicitation: {
      const message = `${server} asks: ${question.params.message}`;
      return { ...question, params: { ...question.params, message } };
    }
    case QUESTIONS.sampling: {
      const { includeContext: _context, ...params } = question.params;
      return { ...question, params };
    }
    default:
      return question;
  }
}
