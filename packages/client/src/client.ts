export { ClientError, type ClientErrorCode } from "./client/client-error.ts";
export type { ClientOptions } from "./client/connection.ts";
export type {
  AboutConversation,
  AnswerReceipt,
  ClientConversation,
  Decision,
  EventReading,
  MessagePage,
  MessageQuery,
  Question,
  Reading,
  ReceiptSpan,
  SendOptions,
  TimedActivity,
  TimedAttempt,
  Timeline,
  TypedFigure,
} from "./client/conversation.ts";
export {
  type Client,
  type ConversationPage,
  type ConversationQuery,
  createClient,
  type ListedConversation,
} from "./client/create-client.ts";
export type { ClientFiles, FilePutOptions } from "./client/variables.ts";
export type {
  ClientPlans,
  Recomputation,
  RunData,
  RunOptions,
  WrittenPlan,
} from "./client/plans.ts";
export type {
  ClientPrograms,
  ListedProgram,
  ListedProgramRun,
  NewSchedule,
  ProgramRunView,
  ProgramView,
  ScheduleView,
  WebhookView,
  WrittenProgram,
} from "./client/programs.ts";
export type { Chunk, Streamed, Told, TurnAnswer, TurnData } from "./client/streamed.ts";
export type {
  ClientVariables,
  Guards,
  PutOptions,
  ValuePart,
  VariableChanges,
  VariablePage,
  VariableQuery,
} from "./client/variables.ts";
