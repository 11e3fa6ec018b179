import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { CHECKOUT } from '../src/checkout.ts'

const read = (file: string) => readFileSync(join(CHECKOUT, file), 'utf8')
const locked: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean; resolved?: string }> =
  JSON.parse(read('package-lock.json')).packages

/** Files that `npm start`, `npm run dev`, `npm run try` and `npm run demo` run, in their own process or another one. */
const STARTS = [
  ...['start', 'dev', 'try', 'demo'].map((name) => `deploy/local/src/${name}.ts`),
  ...[
    'gateway',
    'services/identity',
    'services/webhook',
    'services/configuration',
    'services/dispatcher',
    'services/campaigns',
  ].map((folder) => `${folder}/src/server.ts`),
  'services/server.ts',
  'deploy/local/src/simulator/server.ts',
  'deploy/local/src/model-simulator/server.ts',
  'deploy/local/src/processes/reaper.ts',
  'deploy/local/src/system/become-process.ts',
  'docs/openapi/write-document.ts',
  'gateway/console/build.ts',
]
/** Imports that are there when it runs, not those of types alone. */
const IMPORT =
  /^(?:import|export) (?!type\b)(?:[^'";]*? from )?'([^']+)'|\bimport\('([^']+)'\)|new URL\('(\.[^']+\.ts)'/gm

/** The files that the starts lead to, and the packages from elsewhere, each with a file that imports it. */
function reached(): { files: Set<string>; packages: Map<string, string> } {
  const files = new Set(STARTS)
  const packages = new Map<string, string>()
  for (const file of files)
    for (const [, first, second, third] of read(file).matchAll(IMPORT)) {
      const specifier = first ?? second ?? third ?? ''
      const own = specifier.startsWith('.') ? join(dirname(file), specifier) : fileOfPackage(specifier)
      if (own !== undefined) {
        if (/\.tsx?$/.test(own) && existsSync(join(CHECKOUT, own))) files.add(own)
      } else if (!isBuiltin(specifier)) packages.set(nameOf(specifier), file)
    }
  return { files, packages }
}

/** The file of one of our own packages that a specifier leads to. */
function fileOfPackage(specifier: string): string | undefined {
  const name = nameOf(specifier)
  const folder = locked[`node_modules/${name}`]?.link ? locked[`node_modules/${name}`]?.resolved : undefined
  if (folder === undefined) return undefined
  const { exports } = JSON.parse(read(join(folder, 'package.json')))
  const path = specifier.slice(name.length + 1)
  return join(folder, String(path === '' ? exports['.'] : exports['./*'].replace('*', path)))
}

const nameOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

test('what npm start, try and demo run needs no package that is installed for tests alone', () => {
  const { files, packages } = reached()
  expect(files.size).toBeGreaterThan(500)
  expect([...packages.keys()]).toEqual(expect.arrayContaining(['zod', 'mongoose', 'esbuild', 'ai']))
  const forTests = [...packages].filter(([name, file]) => {
    const places = [dirname(file), ...parentsOf(dirname(file))].map((folder) =>
      join(folder, 'node_modules', name),
    )
    const found = places.map((place) => locked[place]).find((one) => one !== undefined)
    return found === undefined || found.dev || found.devOptional
  })
  expect(forTests).toEqual([])
})

function parentsOf(folder: string): string[] {
  const parts = folder.split('/')
  return parts.map((_part, at) => parts.slice(0, parts.length - at - 1).join('/'))
}

test('Node itself is not left out without what only tests need', () => {
  expect(locked['node_modules/node']?.dev).toBeUndefined()
})
