/**
 * Reads the JSON answers of a registry field by field, by hand. A complaint is a `RegistryResponseError` that
 * names the field as a path (`versions[3].version`). As in the reference clients, unknown fields are ignored and a
 * field that is absent or `null` has its empty value, unless the caller says that it is required.
 */
import { RegistryResponseError } from '../errors.ts';

/** A value of an answer, and where it stands in it. */
export interface JsonValue {
  /** The URL that answered, as it may stand in a message. */
  readonly url: string;
  /** The path of the field, `''` for the whole document. */
  readonly path: string;
  /** The value itself; `undefined` when the field is absent. */
  readonly value: unknown;
}

/** The whole document. `url` will stand in messages: it must be redacted. */
export function parseJson(text: string, url: string): JsonValue {
  try {
    return { url, path: '', value: JSON.parse(text) };
  } catch (cause) {
    throw new RegistryResponseError(url, '', `it is not JSON (${text.length} characters)`, cause);
  }
}

/** One field of an object; absent when the object itself is, unless that is the whole document. */
export function field(parent: JsonValue, name: string): JsonValue {
  const path = parent.path === '' ? name : `${parent.path}.${name}`;
  if (parent.path !== '' && isAbsent(parent)) return { url: parent.url, path, value: undefined };
  const object = objectOf(parent);
  return { url: parent.url, path, value: Object.hasOwn(object, name) ? object[name] : undefined };
}

/** All fields of an object; none when it is absent or null. */
export function fields(parent: JsonValue): (readonly [name: string, value: JsonValue])[] {
  if (isAbsent(parent)) return [];
  return Object.entries(objectOf(parent)).map(([name, value]) => [name, { url: parent.url, path: `${parent.path}[${quoted(name)}]`, value }] as const);
}

/** The elements of an array; none when it is absent or null. */
export function elements(node: JsonValue): JsonValue[] {
  if (isAbsent(node)) return [];
  if (!Array.isArray(node.value)) throw unexpected(node, 'an array');
  return node.value.map((value: unknown, index) => ({ url: node.url, path: `${node.path}[${index}]`, value }));
}

/** A string; `''` when it is absent or null. */
export function text(node: JsonValue): string {
  if (isAbsent(node)) return '';
  if (typeof node.value !== 'string') throw unexpected(node, 'a string');
  return node.value;
}

/** A string that must be there and hold something. */
export function requiredText(node: JsonValue): string {
  const value = text(node);
  if (value === '') throw invalid(node, 'it is missing');
  return value;
}

/** An array of strings; empty when it is absent or null. */
export function texts(node: JsonValue): string[] {
  return elements(node).map(text);
}

/** A number. */
export function number(node: JsonValue): number {
  if (typeof node.value !== 'number') throw unexpected(node, 'a number');
  return node.value;
}

/** Text of a stranger as it may stand in a message: in quotes, escaped, and not longer than a line. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** The error for a field whose content is wrong. */
export function invalid(node: JsonValue, problem: string, cause?: unknown): RegistryResponseError {
  return new RegistryResponseError(node.url, node.path, problem, cause);
}

function objectOf(node: JsonValue): Record<string, unknown> {
  if (typeof node.value !== 'object' || node.value === null || Array.isArray(node.value)) throw unexpected(node, 'an object');
  return node.value as Record<string, unknown>;
}

function isAbsent(node: JsonValue): boolean {
  return node.value === undefined || node.value === null;
}

function unexpected(node: JsonValue, wanted: string): RegistryResponseError {
  const { value } = node;
  const found = value === undefined ? 'nothing' : value === null ? 'null' : Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
  return invalid(node, `${wanted} is expected, and ${found} stands there`);
}
