// Makes the command line as one package without dependencies, for machines without a checkout: node deploy/cli/pack.ts
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import manifest from './package.json' with { type: 'json' }

const run = promisify(execFile)
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const OLDEST_NODE = '>=20.12'
/** For what is CommonJS of what is bundled. */
const REQUIRE = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)`
/** What the newest Node has of its own, and the oldest that it runs on has not. */
const SINCE_NODE_22 = `
Promise.withResolvers ??= function () {
  let own
  const promise = new this((resolve, reject) => { own = { resolve, reject } })
  return { promise, ...own }
}
`

/** Writes the package into a folder; resolves with its path, which `npm install` takes. */
export async function packCli(folder: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'parley-cli-'))
  try {
    await build({
      entryPoints: [here('src/main.ts')],
      outfile: join(work, 'parley.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.12',
      minify: true,
      legalComments: 'linked',
      banner: { js: `#!/usr/bin/env node\n${REQUIRE}${SINCE_NODE_22}` },
    })
    const { name, version, license } = manifest
    const described = {
      ...{ name, version, license, description: 'Parley from a terminal', type: 'module' },
      ...{ bin: { parley: 'parley.mjs' }, engines: { node: OLDEST_NODE } },
    }
    await writeFile(join(work, 'package.json'), JSON.stringify(described, null, 2))
    await writeFile(join(work, 'LICENSE'), await readFile(here('../../LICENSE')))
    await mkdir(folder, { recursive: true })
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: work })
    return join(folder, stdout.trim())
  } finally {
    await rm(work, { recursive: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  console.log(await packCli(here('../../.local')))
