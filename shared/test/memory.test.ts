import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { parseConfig } from '@parley/shared/config'
import { heapArguments, heapLimitMib, MEMORY, memoryConfig, sizesOf } from '@parley/shared/memory'
import { z } from 'zod'

const MIB = 1024 * 1024
/** The largest body that each kind of sender may send, and the largest message. */
const LARGEST = { authenticated: 22 * MIB, unsigned: 3 * MIB, message: 16 * MIB }

describe.each(MEMORY)('MEMORY=%s', (memory) => {
  test('has room for the largest body of a sender, and for several senders', () => {
    const { bodies, unconfirmedBytes } = sizesOf(memory)
    for (const kind of ['authenticated', 'unsigned'] as const) {
      expect(bodies[kind].perSender).toBeGreaterThanOrEqual(LARGEST[kind])
      expect(bodies[kind].bytes).toBeGreaterThanOrEqual(2 * bodies[kind].perSender)
    }
    expect(unconfirmedBytes).toBeGreaterThanOrEqual(2 * LARGEST.message)
  })

  test('bounds what a process uses, which it says', () => {
    const script = `
      import { memoryBound } from ${JSON.stringify(fileURLToPath(new URL('../src/memory.ts', import.meta.url)))}
      console.log(JSON.stringify(memoryBound(${JSON.stringify(memory)})))`
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [...heapArguments(memory), '--input-type=module', '-e', script],
      { encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    const { heapMib, buffersMib, atMostMib } = JSON.parse(stdout)
    expect(heapMib).toBe(heapLimitMib(memory))
    expect(atMostMib).toBeGreaterThan(heapMib + buffersMib)
  })
})

test('each setting has more of everything than the one before', () => {
  const sizes = MEMORY.map(sizesOf)
  for (const [at, larger] of sizes.slice(1).entries()) {
    const { bodies, ...flat } = sizes[at] as (typeof sizes)[number]
    for (const [key, value] of Object.entries(flat))
      expect(larger[key as keyof typeof flat]).toBeGreaterThan(value)
    expect(larger.bodies.authenticated.bytes).toBeGreaterThan(bodies.authenticated.bytes)
    expect(larger.bodies.unsigned.bytes).toBeGreaterThan(bodies.unsigned.bytes)
  }
})

test('a setting that there is not is refused', () => {
  expect(() => parseConfig(z.object(memoryConfig), { MEMORY: 'tiny' })).toThrow(/MEMORY/)
  expect(parseConfig(z.object(memoryConfig), {}).MEMORY).toBe('default')
})
