export { type PageFile, pageFiles, pageFolder } from "./bundle/page-files.ts";
