// Makes the command line and the client as packages, for machines without a checkout: node deploy/packages/pack.ts
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import client from '../../shared/client/package.json' with { type: 'json' }
import cli from '../cli/package.json' with { type: 'json' }

const run = promisify(execFile)
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const TYPESCRIPT = here('../../node_modules/.bin/tsc')
const CLIENT = here('../../shared/client/src')
const WRITE_TYPES = here('../../docs/openapi/write-types.ts')
const ENGINES = { node: '>=20.12' }

/** For what is CommonJS of what is bundled. */
const REQUIRE = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)`
/** Built-ins that newer versions of Node have and the oldest lacks. */
const SINCE_NODE_22 = `
Promise.withResolvers ??= function () {
  let own
  const promise = new this((resolve, reject) => { own = { resolve, reject } })
  return { promise, ...own }
}
`

/** Writes the command line as a package without dependencies into a folder; resolves with its path, which `npm install` takes. */
export function packCli(folder: string): Promise<string> {
  const { name, version, license } = cli
  const manifest = { name, version, license, type: 'module', bin: { parley: 'parley.mjs' }, engines: ENGINES }
  return packed(folder, manifest, async (work) => {
    await build({
      ...{ entryPoints: [here('../cli/src/main.ts')], outfile: join(work, 'parley.mjs') },
      ...{ bundle: true, minify: true, platform: 'node', format: 'esm', target: 'node20.12' },
      legalComments: 'linked',
      banner: { js: `#!/usr/bin/env node\n${REQUIRE}${SINCE_NODE_22}` },
    })
  })
}

/** The same of the client, as JavaScript with its types. */
export function packClient(folder: string): Promise<string> {
  const { name, version, license, dependencies } = client
  const exports = Object.fromEntries(
    [
      ['.', 'parley'],
      ['./*', '*'],
    ].map(([path, file]) => [path, { types: `./${file}.d.ts`, default: `./${file}.js` }]),
  )
  const manifest = { name, version, license, type: 'module', exports, dependencies, engines: ENGINES }
  return packed(folder, manifest, async (work) => {
    await run(process.execPath, [WRITE_TYPES])
    const files = (await readdir(CLIENT)).map((file) => join(CLIENT, file))
    const options = [
      ...['--ignoreConfig', '--rootDir', CLIENT, '--outDir', work, '--declaration'],
      ...['--rewriteRelativeImportExtensions', '--verbatimModuleSyntax', '--strict', '--skipLibCheck'],
      ...['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],
      ...[
        '--target',
        'es2022',
        '--module',
        'nodenext',
        '--lib',
        'esnext,dom,dom.iterable',
        '--types',
        'node',
      ],
    ]
    await run(TYPESCRIPT, [...options, ...files])
  })
}

async function packed(
  folder: string,
  manifest: object,
  make: (work: string) => Promise<void>,
): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'parley-package-'))
  try {
    await make(work)
    await writeFile(join(work, 'package.json'), JSON.stringify(manifest, null, 2))
    await cp(here('../../LICENSE'), join(work, 'LICENSE'))
    await mkdir(folder, { recursive: true })
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: work })
    return join(folder, stdout.trim())
  } finally {
    await rm(work, { recursive: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const pack of [packCli, packClient]) console.log(await pack(here('../../.local')))
