#!/usr/bin/env node
// Starts the command line on the project's own Node, which runs TypeScript as it is. Plain JavaScript: whatever Node
// npx runs on may be older.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const main = new URL('../src/main.ts', import.meta.url)
const own = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url))
const OLDEST = 24
/** Compiled once, it starts in half the time. Nobody else may write there. */
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'parley')

if (Number(process.versions.node.split('.')[0]) >= OLDEST) {
  module.enableCompileCache(cache)
  await import(main.href)
} else if (existsSync(own)) runOn(own)
else {
  console.error(
    `parley needs Node ${OLDEST} or later; this is ${process.versions.node}. Run npm ci in the checkout.`,
  )
  process.exitCode = 2
}

/** Runs it in the foreground, and ends like it. The terminal sends its signals to both. */
function runOn(node) {
  const child = spawn(node, [fileURLToPath(main), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: cache, ...process.env },
  })
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => void child.kill('SIGTERM'))
  child.once('error', (error) => {
    console.error(error.message)
    process.exitCode = 70
  })
  child.once('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : signal === 'SIGINT' ? 130 : 143
  })
}
