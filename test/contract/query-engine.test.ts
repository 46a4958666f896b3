import { nodeQueryEngine } from "../../packages/adapters/src/agent/node-query-engine.ts";
import { describeQueryEngine } from "./query-engine.ts";

describeQueryEngine("node:sqlite", nodeQueryEngine);
