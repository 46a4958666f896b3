import { storeLarge } from "./store-large.ts";
import { onEveryKind, sampledKinds } from "./store-testing.ts";

onEveryKind(storeLarge, sampledKinds);
