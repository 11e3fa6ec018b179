import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, matchesGlob } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { SERVICES } from '@parley/shared/internal-token'
import { CHECKOUT } from '../src/checkout.ts'

const PACKAGES = ['shared', 'gateway', ...SERVICES.slice(1).map((name) => `services/${name}`)]
const dockerfile = readFileSync(join(CHECKOUT, 'deploy/docker/Dockerfile'), 'utf8')
const ignore = readFileSync(join(CHECKOUT, '.dockerignore'), 'utf8')

/** Files that `COPY` takes from the build context, as [source, destination]; those from another stage are left out. */
const instructions = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, text = '']) => {
  const words = text.split(/\s+/)
  const destination = words.at(-1) ?? ''
  return words.slice(0, -1).map((source) => [source, destination] as const)
})

const isBelow = (file: string, folder: string) => file === folder || file.startsWith(`${folder}/`)

/** True when the build context has it: nothing but what an exception names. */
const inContext = (file: string) =>
  ignore
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .some((line) => {
      const pattern = line.slice(1)
      return matchesGlob(file, pattern) || matchesGlob(file, `${pattern}/**`)
    })

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: CHECKOUT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(CHECKOUT, file)))
const inImage = tracked.filter(
  (file) => inContext(file) && instructions.some(([source]) => isBelow(file, source)),
)

describe('the image', () => {
  test('contains the sources of every package, and the package files to install from', () => {
    const sources = tracked.filter((file) => PACKAGES.some((name) => isBelow(file, `${name}/src`)))
    expect(inImage).toEqual(expect.arrayContaining(sources))
    for (const name of PACKAGES) expect(inImage).toContain(`${name}/package.json`)
    expect(inImage).toEqual(expect.arrayContaining(['package.json', 'package-lock.json', '.npmrc']))
  })

  test('contains nothing else but the sources of the console and its client, what the API document is made by, the process that hosts all services and the scripts that prepare MongoDB and RabbitMQ', () => {
    const known = (file: string) =>
      PACKAGES.some((name) => isBelow(file, `${name}/src`)) ||
      isBelow(file, 'gateway/console/src') ||
      isBelow(file, 'shared/client/src') ||
      file === 'gateway/console/build.ts' ||
      /^services\/(app|server)\.ts$/.test(file) ||
      /^([\w/-]+\/)?package(-lock)?\.json$|^\.npmrc$|^docs\/openapi\/[\w-]+\.ts$|^docs\/permission-operations\.ts$|^deploy\/docker\/(prepare-mongo|prepare-rabbitmq|spread-queues)\.ts$/.test(
        file,
      )
    expect(inImage.filter((file) => !known(file))).toEqual([])
  })

  test('takes nothing from outside the build context', () => {
    for (const [source] of instructions)
      expect([source, tracked.some((file) => isBelow(file, source) && inContext(file))]).toEqual([
        source,
        true,
      ])
  })

  test('runs as an unprivileged user, on the Node version of the lock file', () => {
    const { dependencies } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'))
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
    expect(new Set(bases)).toEqual(new Set([`node:${dependencies.node}-alpine`]))
    expect(dockerfile).toMatch(/^USER node$/m)
  })
})

describe('the content of the image is enough to start', () => {
  const root = mkdtempSync(join(tmpdir(), 'parley-image-'))
  beforeAll(() => {
    for (const file of inImage) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      cpSync(join(CHECKOUT, file), join(root, file))
    }
    // Links to the workspaces lead into the image's own tree, as npm makes them there.
    const modules = join(root, 'node_modules')
    mkdirSync(join(modules, '@parley'), { recursive: true })
    for (const name of readdirSync(join(CHECKOUT, 'node_modules')).filter((one) => one !== '@parley'))
      symlinkSync(join(CHECKOUT, 'node_modules', name), join(modules, name))
    for (const name of [...PACKAGES, 'shared/client']) {
      symlinkSync(join(root, name), join(modules, '@parley', name.split('/').at(-1) ?? ''))
      const own = join(CHECKOUT, name, 'node_modules')
      if (existsSync(own)) symlinkSync(own, join(root, name, 'node_modules'))
    }
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  test.each(PACKAGES.slice(1))('%s', (name) => {
    const { status, stderr } = spawnSync(process.execPath, [join(name, 'src/server.ts')], {
      cwd: root,
      encoding: 'utf8',
      env: { NODE_ENV: 'production', PORT: 'x', METRICS_PORT: '-1' },
    })
    // It got as far as its configuration, of which it names every fault at once.
    expect(stderr).toMatch(/The configuration is wrong:/)
    for (const key of ['PORT', 'METRICS_PORT', 'SERVICE_KEY', 'SERVICE_JWKS'])
      expect(stderr).toMatch(new RegExp(`^ {2}${key}: `, 'm'))
    expect(status).toBe(1)
  })

  test('all services in one process', () => {
    const { status, stderr } = spawnSync(process.execPath, ['services/server.ts'], {
      cwd: root,
      encoding: 'utf8',
      env: { NODE_ENV: 'production', SERVICES: 'all', PORT: 'x' },
    })
    for (const name of SERVICES)
      expect(stderr).toMatch(new RegExp(`^${name}: The configuration is wrong:`, 'm'))
    expect(status).toBe(1)
  })

  test('and to make the console’s bundle', () => {
    const { status, stderr } = spawnSync(process.execPath, ['gateway/console/build.ts'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    expect(existsSync(join(root, 'gateway/console/dist/index.html'))).toBe(true)
    expect(dockerfile).toMatch(/^COPY --from=console \S+\/gateway\/console\/dist gateway\/console\/dist$/m)
  })

  test.each(['mongo', 'rabbitmq'])('the script that prepares %s', (server) => {
    const { status, stderr } = spawnSync(process.execPath, [`deploy/docker/prepare-${server}.ts`], {
      cwd: root,
      encoding: 'utf8',
      env: {},
    })
    expect(stderr).toMatch(/The configuration is wrong:[\s\S]*ADMIN_PASSWORD/)
    expect(status).toBe(1)
  })
})
