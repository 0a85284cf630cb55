/** The literal subset of HCL that lock files and CLI configuration use. Pure: reads no file. */
export { parseHcl } from './parse.ts';
export { quoteHcl } from './strings.ts';
export type { HclAttribute, HclBlock, HclBody, HclDialect, HclFile, HclLiteral, ParseHclOptions, SourcePosition, SourceRange } from './types.ts';
