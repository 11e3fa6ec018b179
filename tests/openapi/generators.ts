import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CACHE_DIRECTORY, CHECKOUT } from '@parley/local/checkout'
import { runCommand } from '@parley/local/processes/run-command'

const INSTALL_MS = 360_000
const RUN_MS = 540_000
const CLIENTS = fileURLToPath(new URL('clients', import.meta.url))

/** A command of this run, in its folder. */
interface Command {
  command: string
  args: string[]
  env?: Record<string, string>
}

/** A generator of clients, pinned; what it needs is installed into a folder of the cache. */
interface Generator {
  name: string
  version: string
  /** The toolchain that has to be on the PATH. */
  toolchain: string
  /** The document that it reads. */
  document: '/openapi.json' | '/openapi-3.0.json'
  /** The folder of `clients` with the program that calls the client. */
  program: string
  install(directory: string): Command[]
  /** From the `openapi.json` beside the program. */
  generate(directory: string): Command
  /** Builds and runs the program. */
  calls(directory: string): Command[]
}

const python: Generator = {
  ...{ name: 'openapi-python-client', version: '0.29.1', toolchain: 'python3', document: '/openapi.json' },
  program: 'python',
  install: (directory) => [
    { command: 'python3', args: ['-m', 'venv', directory] },
    {
      command: join(directory, 'bin/pip'),
      args: ['install', '--retries', '0', '--timeout', '10', `openapi-python-client==${python.version}`],
    },
  ],
  // It formats what it has made by the ruff that is installed with it.
  generate: (directory) => ({
    command: join(directory, 'bin/openapi-python-client'),
    args: [
      'generate',
      '--path',
      'openapi.json',
      '--config',
      'generator.yaml',
      '--meta',
      'none',
      '--output-path',
      'parley_client',
      '--fail-on-warning',
    ],
    env: { PATH: `${join(directory, 'bin')}:${process.env.PATH}` },
  }),
  calls: (directory) => [{ command: join(directory, 'bin/python'), args: ['three_calls.py'] }],
}

const goPath = (directory: string) => ({
  GOPATH: join(directory, 'go'),
  GOFLAGS: '-modcacherw',
  GOTOOLCHAIN: 'local',
})

const go: Generator = {
  ...{ name: 'oapi-codegen', version: '2.8.2', toolchain: 'go', document: '/openapi-3.0.json' },
  program: 'go',
  install: (directory) => [
    {
      command: 'go',
      args: ['install', `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${go.version}`],
      env: goPath(directory),
    },
    // The imports of the generated client, as pinned beside the program.
    { command: 'go', args: ['-C', join(CLIENTS, 'go'), 'mod', 'download'], env: goPath(directory) },
  ],
  generate: (directory) => ({
    command: join(directory, 'go/bin/oapi-codegen'),
    args: ['-config', 'oapi-codegen.yaml', '-o', 'client.go', 'openapi.json'],
  }),
  calls: (directory) => [
    {
      command: 'go',
      args: ['build', '-o', 'three-calls', '.'],
      env: { ...goPath(directory), GOPROXY: 'off' },
    },
    { command: './three-calls', args: [] },
  ],
}

const typescript: Generator = {
  ...{ name: '@hey-api/openapi-ts', version: '0.99.0', toolchain: 'npm', document: '/openapi.json' },
  program: 'typescript',
  install: (directory) => [
    {
      command: 'npm',
      args: [
        ...['install', '--prefix', directory, '--ignore-scripts', '--no-audit', '--no-fund'],
        ...['--fetch-retries', '0', `@hey-api/openapi-ts@${typescript.version}`, 'typescript@5.9.3'],
      ],
    },
  ],
  generate: (directory) => ({
    command: join(directory, 'node_modules/.bin/openapi-ts'),
    args: ['-f', 'openapi-ts.mjs', '--no-log-file'],
  }),
  calls: () => [
    {
      command: join(CHECKOUT, 'node_modules/.bin/tsc'),
      args: [
        ...[
          '--noEmit',
          '--strict',
          '--target',
          'es2022',
          '--module',
          'preserve',
          '--allowImportingTsExtensions',
        ],
        'client/index.ts',
      ],
    },
    { command: process.execPath, args: ['three-calls.mjs'] },
  ],
}

export const generators: readonly Generator[] = [python, go, typescript]

/** The folder in which a generator is installed, or why it is not. */
type Installed = { directory: string } | { directory: undefined; reason: string }

/**
 * The generator that was installed before, or with `install` one that is installed now: at the lowest priority, at most 6
 * minutes. What could not be installed whole is removed.
 */
export async function findGenerator(generator: Generator, options: { install: boolean }): Promise<Installed> {
  const { name, version } = generator
  const directory = join(CACHE_DIRECTORY, `${name.replace('/', '-')}-${version}`)
  const installed = join(directory, 'installed')
  if (existsSync(installed)) return { directory }
  if (!options.install)
    return { directory: undefined, reason: `${name} is not installed, which only CI does` }
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  try {
    for (const { command, args, env } of generator.install(directory)) {
      const nice = { command: 'nice', args: ['-n', '19', command, ...args] }
      await runCommand({ ...nice, owner: directory, env: env ?? {}, timeoutMs: INSTALL_MS })
    }
    writeFileSync(installed, '')
    return { directory }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    return { directory: undefined, reason: `${name} can't be installed: ${(error as Error).message}` }
  }
}

interface Ran {
  stdout: string
  stderr: string
}

/** Generates the client of a document into `folder`, beside the program that calls it. Rejects when it fails. */
export function generateClient(
  generator: Generator,
  options: { directory: string; document: string; folder: string },
): Promise<Ran> {
  const { directory, document, folder } = options
  writeFileSync(join(folder, 'openapi.json'), document)
  cpSync(join(CLIENTS, generator.program), folder, { recursive: true })
  return runIn(folder, generator.generate(directory))
}

/** Runs the program that calls a generated client; what it has printed. */
export async function callClient(
  generator: Generator,
  options: { directory: string; folder: string; env: Record<string, string> },
): Promise<string> {
  const { directory, folder, env } = options
  let printed = ''
  for (const command of generator.calls(directory))
    printed = (await runIn(folder, { ...command, env: { ...command.env, ...env } })).stdout
  return printed
}

function runIn(cwd: string, { command, args, env }: Command): Promise<Ran> {
  return promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env }, timeout: RUN_MS })
}
