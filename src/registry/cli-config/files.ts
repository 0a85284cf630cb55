/**
 * Where the clients look for their CLI configuration and their plugins. Reads nothing, but looks what is there where the choice depends
 * on it.
 */
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';
import type { Environment } from '../credentials.ts';
import type { CliTool } from './types.ts';

/** What the places depend on. */
export interface Surroundings {
  readonly tool: CliTool;
  readonly environment: Environment;
  readonly homeDirectory: string;
  readonly workingDirectory: string;
  readonly platform: NodeJS.Platform;
}

/** What a caller may say of them. */
export interface GivenSurroundings {
  readonly tool?: CliTool | undefined;
  readonly environment?: Environment | undefined;
  readonly homeDirectory?: string | undefined;
  readonly workingDirectory?: string | undefined;
}

/** Fills in what the caller leaves out. OpenTofu's search finds what is there for either client. */
export function surroundings(given: GivenSurroundings, platform: NodeJS.Platform = process.platform): Surroundings {
  const environment = given.environment ?? process.env;
  const home = given.homeDirectory ?? value(environment, platform === 'win32' ? 'USERPROFILE' : 'HOME') ?? homedir();
  return { tool: given.tool ?? 'tofu', environment, homeDirectory: home, workingDirectory: given.workingDirectory ?? process.cwd(), platform };
}

/** Paths as the platform has them. */
export function pathsOf({ platform }: Surroundings): typeof posix {
  return platform === 'win32' ? win32 : posix;
}

/** The file that the environment names; then no other file is read. */
export function overridingFile(where: Surroundings): string | undefined {
  const named = value(where.environment, 'TF_CLI_CONFIG_FILE') ?? value(where.environment, 'TERRAFORM_CONFIG');
  return named === undefined ? undefined : pathsOf(where).resolve(where.workingDirectory, named);
}

/** The main file; it need not be there. */
export async function mainFile(where: Surroundings): Promise<string> {
  const paths = pathsOf(where);
  const base = baseDirectory(where);
  const [own, shared] = where.platform === 'win32' ? ['tofu.rc', 'terraform.rc'] : ['.tofurc', '.terraformrc'];
  if (where.tool === 'terraform' || (!(await exists(paths.join(base, own))) && (await exists(paths.join(base, shared))))) return paths.join(base, shared);
  const xdg = where.platform === 'win32' ? undefined : value(where.environment, 'XDG_CONFIG_HOME');
  return xdg === undefined || (await exists(paths.join(base, own))) ? paths.join(base, own) : paths.join(xdg, 'opentofu', 'tofurc');
}

/** The directory of further files and of plugins; it need not be there. */
export async function configDirectory(where: Surroundings): Promise<string> {
  const paths = pathsOf(where);
  if (where.platform === 'win32') return paths.join(baseDirectory(where), 'terraform.d');
  const usual = paths.join(baseDirectory(where), '.terraform.d');
  const xdg = where.tool === 'tofu' ? value(where.environment, 'XDG_CONFIG_HOME') : undefined;
  return xdg === undefined || (await exists(usual)) ? usual : paths.join(xdg, 'opentofu');
}

/** The directories with a `plugins` directory in them, the first ones first. */
export function dataDirectories(where: Surroundings): string[] {
  const paths = pathsOf(where);
  if (where.platform === 'win32') return [paths.join(baseDirectory(where), 'terraform.d')];
  const xdg = where.tool === 'tofu' ? value(where.environment, 'XDG_DATA_HOME') : undefined;
  return [paths.join(baseDirectory(where), '.terraform.d'), ...(xdg === undefined ? [] : [paths.join(xdg, 'opentofu')])];
}

/** Where packages may lie without any configuration (`cmd/tofu/provider_source.go` `implicitProviderSource`), whether they are there or not. */
export function impliedDirectories(where: Surroundings): string[] {
  const paths = pathsOf(where);
  return [paths.join(where.workingDirectory, 'terraform.d'), ...dataDirectories(where), ...systemDataDirectories(where)].map((directory) => paths.join(directory, 'plugins'));
}

/** The user's and the system's directories of application data (go-userdirs, application "Terraform", vendor "HashiCorp"). */
function systemDataDirectories(where: Surroundings): string[] {
  const { platform, environment, homeDirectory } = where;
  const paths = pathsOf(where);
  if (platform === 'win32') return [paths.join(baseDirectory(where), 'HashiCorp', 'Terraform')];
  if (platform === 'darwin') return [paths.join(homeDirectory, 'Library/Application Support/io.terraform'), '/Library/Application Support/io.terraform'];
  const user = value(environment, 'XDG_DATA_HOME') ?? paths.join(homeDirectory, '.local/share');
  const system = (value(environment, 'XDG_DATA_DIRS') ?? '/usr/local/share:/usr/share').split(':');
  // What is not absolute is to be ignored, says the specification.
  return [user, ...system].filter((directory) => posix.isAbsolute(directory)).map((directory) => paths.join(directory, 'terraform'));
}

function baseDirectory(where: Surroundings): string {
  if (where.platform !== 'win32') return where.homeDirectory;
  return value(where.environment, 'APPDATA') ?? win32.join(where.homeDirectory, 'AppData', 'Roaming');
}

/** A variable that is empty says nothing. */
function value(environment: Environment, name: string): string | undefined {
  const text = environment[name];
  return text === '' ? undefined : text;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
