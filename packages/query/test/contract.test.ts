import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { describeQueryEngine } from "./contract.ts";

describeQueryEngine("node:sqlite", nodeQueryEngine);
