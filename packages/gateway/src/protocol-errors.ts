import { ProtocolError, ProtocolErrorCode, type Transport } from "@modelcontextprotocol/client";
import { flawIn } from "../../../src/tool/mcp/own-answer.ts";
import { redactTexts } from "./secrets-of-address.ts";

/** The code and data of an error as its server gave them. The library changes some. */
class GivenError {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, data: unknown) {
    this.code = code;
    this.data = data;
  }

  toJSON(): unknown {
    return this.data;
  }
}

/** Keeps what servers give in errors. Call it when the transport is connected: the library reads errors before. */
export function keepReceivedErrors(transport: Transport | undefined): void {
  const receive = transport?.onmessage;
  if (transport === undefined || receive === undefined) return;
  transport.onmessage = (message, extra) => {
    if (!("error" in message) || flawIn(message.error.data) !== undefined)
      return receive(message, extra);
    const { code, data } = message.error;
    const error = { ...message.error, data: new GivenError(code, data) };
    return receive({ ...message, error }, extra);
  };
}

/** Sends the codes that servers gave, for versions that do not prescribe others. Call it before the connection. */
export function keepSentCodes(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const given = "error" in message ? message.error.data : undefined;
    if (!("error" in message) || !(given instanceof GivenError)) return send(message, options);
    const { code, data } = given;
    const error = { code, message: message.error.message, ...(data !== undefined && { data }) };
    return send({ ...message, error }, options);
  };
}

/** Returns an error as its server gave it, without secrets; undefined for any other error. */
export function givenError(
  error: unknown,
  redact: (text: string) => string,
): ProtocolError | undefined {
  if (!(error instanceof ProtocolError) || !(error.data instanceof GivenError)) return undefined;
  const { message } = error;
  const { code, data } = error.data;
  // A person reads its addresses, and opens them.
  const isQuestion = code === ProtocolErrorCode.UrlElicitationRequired;
  const shown = isQuestion ? { message, data } : redactTexts(redact, { message, data });
  return new ProtocolError(code, shown.message, new GivenError(code, shown.data));
}
