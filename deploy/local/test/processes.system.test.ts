import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { findOwned, ownerMark, stopOwned } from '@parley/local/processes/owned'
import { freshDirectory } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'

const WAIT = { timeoutMs: 30_000 }
const STUBBORN = "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)"

const directories: string[] = []

afterEach(async () => {
  for (const directory of directories.splice(0)) await stopOwned(directory, { graceMs: 0 })
})

function newDirectory(): string {
  const directory = freshDirectory('processes')
  directories.push(directory)
  return directory
}

/** Runs a script that belongs to `directory`, until it has said that it is up. */
async function runOwned(directory: string, script: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', script], {
    env: { ...process.env, ...ownerMark(directory) },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  await once(child.stdout, 'data')
  return child
}

const pidsOf = (directory: string) => findOwned(directory).map(({ pid }) => pid)

describe('processes that belong to a folder', () => {
  test('are found after their parent is gone, and no others', async () => {
    const [mine, other] = [newDirectory(), newDirectory()]
    const sleeper = `require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })`
    const parent = await runOwned(
      join(mine, 'inner'),
      `${sleeper}; console.log('up'); setInterval(() => {}, 1000)`,
    )
    const stranger = await runOwned(other, STUBBORN)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    expect(findOwned(mine)).toEqual([{ pid: expect.any(Number), command: 'sleep 600' }])
    expect(pidsOf(other)).toEqual([stranger.pid])
    expect(pidsOf(`${mine}/inn`)).toEqual([])
  })

  test('are killed when they ignore SIGTERM', async () => {
    const directory = newDirectory()
    const child = await runOwned(directory, STUBBORN)
    const exited = once(child, 'exit')
    await stopOwned(directory, { graceMs: 300 })
    expect(await exited).toEqual([null, 'SIGKILL'])
    expect(findOwned(directory)).toEqual([])
  })

  test('are stopped by the reaper when their owner gets SIGKILL', async () => {
    const directory = newDirectory()
    const script = join(directory, 'owner.ts')
    const source = join(CHECKOUT, 'deploy/local/src/processes')
    writeFileSync(
      script,
      `import { spawn } from 'node:child_process'
import { ownerMark, startReaper } from '${source}/owned.ts'
startReaper({ directory: '${directory}', remove: false })
const env = { ...process.env, ...ownerMark('${directory}') }
const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env })
console.log(child.pid)
setInterval(() => {}, 1000)`,
    )
    const owner = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [pid] = await once(owner.stdout, 'data')
    expect(pidsOf(directory)).toEqual([Number(pid)])
    owner.kill('SIGKILL')
    expect(await waitUntil(() => findOwned(directory).length === 0, WAIT)).toBe(true)
  })
})

describe('the bootstrap script', () => {
  const bootstrap = join(CHECKOUT, 'deploy/local/bootstrap.mjs')

  const start = (directory: string, source: string) => {
    const script = join(directory, 'script.ts')
    writeFileSync(script, source)
    const env = { ...process.env, ...ownerMark(directory) }
    return spawn(process.execPath, [bootstrap, script, 'one', 'two'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }

  test('runs a script with its arguments and ends with its code', async () => {
    const child = start(newDirectory(), 'console.log(process.argv.slice(2).join()); process.exit(7)')
    const exited = once(child, 'exit')
    const [output] = await once(child.stdout, 'data')
    expect(String(output)).toBe('one,two\n')
    expect(await exited).toEqual([7, null])
  })

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'passes %s on and waits for the end',
    async (signal) => {
      const source = `process.on('${signal}', () => setTimeout(() => process.exit(3), 200))
setInterval(() => {}, 1000)
console.log('up')`
      const child = start(newDirectory(), source)
      await once(child.stdout, 'data')
      const exited = once(child, 'exit')
      child.kill(signal)
      expect(await exited).toEqual([3, null])
    },
  )

  test('closes the script’s channel when it is killed itself', async () => {
    const directory = newDirectory()
    const source = `process.on('disconnect', () => process.exit())
setInterval(() => {}, 1000)
console.log('up')`
    const child = start(directory, source)
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    expect(await waitUntil(() => findOwned(directory).length === 0, WAIT)).toBe(true)
  })

  test('replaces the shell that npm starts, which would not pass SIGINT on', () => {
    const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'))
    const commands = Object.values<string>(scripts).filter(
      (command) => command.includes('bootstrap.mjs') && !command.includes('&&'),
    )
    expect(commands.length).toBeGreaterThan(2)
    for (const command of commands) expect(command).toMatch(/^exec node deploy/)
  })
})
