/** Limits of the gateway, in milliseconds, characters and bytes. */
/** Time to start a server, or to connect to it, and for each request that is not a call. */
export const gatewayConnectMs = 30_000;
/**
 * Time for the greeting of a server that has not answered the request for its version. Both together are less than
 * the 60 s for which the SDK's clients wait for a call.
 */
export const gatewayGreetingMs = 20_000;
/** Time that a list of tools waits for a server; its tools are added when it answers. */
export const gatewayListMs = 10_000;
/** Time that a list of tools waits for a server whose list is known, but out of date. */
export const gatewayStaleMs = 1_000;
/** Time that the answer with a kept list has, before the servers are asked for theirs. */
export const gatewayRenewMs = 100;
/** Time that the answer to a client's greeting waits for instructions of servers that are not known. */
export const gatewayInstructionsMs = 5_000;
/** Characters of instructions. Claude Code cuts them at 2,048. */
export const maxInstructionsChars = 2_000;
/** Time of one call without a sign of progress. */
export const gatewayCallMs = 600_000;
export const maxGatewayCallMs = 3_600_000;
/** Parameters that a person may change in the form of a question, and the characters of each. */
export const maxFields = 20;
export const maxFieldChars = 200;
/** Time that a call waits for a person's answer to a server's question. */
export const gatewayQuestionMs = 600_000;
/** Longest pause before a server that failed is started again. */
export const gatewayRetryMs = 60_000;
export const maxGatewayNameChars = 128;
/** Characters of the lines with which `find_tools` lists all tools. */
export const maxFinderChars = 20_000;
/** Size of an image that is passed through beside its handle. */
export const maxInlineImageBytes = 102_400;
/** Time that another process has to finish reading a value that was replaced. */
export const sharedReadMs = 60_000;
/** Time that a process waits for another one's transaction. */
export const sharedLockMs = 5_000;
/** Time for which a call that was cut off is remembered. */
export const journalMs = 86_400_000;
/** Time after a call in which its answer may still be on its way to the client. */
export const journalEndMs = 1_000;
/** Time that running answers have when the gateway ends. */
export const gatewayCloseMs = 1_000;
/** Time that a program has to end after its input, and after each signal. Clients end the gateway after 4 s. */
export const programEndMs = 1_000;
export const programStopMs = 400;
/** Time after which the gateway ends, whatever its servers do. */
export const gatewayEndMs = 2_500;
/** Size of one message of a server or a client. */
export const maxGatewayMessageBytes = 134_217_728;
/** Characters of a variable that one read of a resource returns. */
export const maxResourceChars = 1_048_576;
/** Streams of changes that clients of one conversation listen to. */
export const maxGatewaySubscriptions = 16;
/** Time after which a conversation without calls ends its connections to servers. */
export const gatewayIdleMs = 20_000;
/** Sessions of clients over HTTP, of versions that have sessions. */
export const maxGatewaySessions = 100;

/** Gateways of one conversation that are open at once, one for each agent and principal. */
export const maxOpenGateways = 8;
