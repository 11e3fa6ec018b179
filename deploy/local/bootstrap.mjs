#!/usr/bin/env node
// Runs a script of this checkout on the project's own Node: installs the dependencies when they are missing
// or are not those of package-lock.json, passes signals on, and leaves no child behind.
//   node deploy/local/bootstrap.mjs <script> [arguments]
// Plain Node 20 and no dependency: this file runs before there are any.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
function run(command, args, stdio) {
  const child = spawn(command, args, {
    cwd: checkout,
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

/** Returns how it failed, or nothing when the dependencies are there. */
async function install(needsAll) {
  if (isInstalled(needsAll)) return undefined
  const began = Date.now()
  // What runs meanwhile must not lose its modules: those of tests are added to them.
  const command = needsAll && isInstalled(false) ? ['install', '--no-save'] : ['ci']
  const what = needsAll ? 'the dependencies, those of tests too' : 'the dependencies'
  console.error(`Installing ${what} (npm ${command[0]}), once …`)
  const args = [
    ...command,
    needsAll ? '--include=dev' : '--omit=dev',
    '--prefer-offline',
    '--fetch-retries=1',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const npm = process.env.npm_execpath
  const [program, first] = npm ? [process.execPath, [npm]] : ['npm', []]
  const outcome = await run(program, [...first, ...args], ['ignore', 2, 2])
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
