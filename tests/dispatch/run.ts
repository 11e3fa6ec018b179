import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import { runAgents } from './agents.ts'
import { runWithKills } from './kills.ts'
import { startOwnSystem } from './own-system.ts'
import { runReplay } from './replay.ts'
import { agentsTable, killTable, replayTable, sendRateTable } from './report.ts'
import { runSendRate } from './send-rate.ts'

const size = z.object({
  MESSAGES: integer({ min: 1_000, max: 1_000_000 })
    .default(20_000)
    .describe('Messages of the run with kills'),
  RATE: integer({ min: 10, max: 2_000 }).default(200).describe('How many of them are posted a second'),
  GOVERNED: integer({ min: 1_000, max: 100_000 }).default(6_600).describe('Messages from one number'),
  CONVERSATIONS: integer({ min: 10, max: 100_000 })
    .default(2_000)
    .describe('Conversations with an assistant'),
  CONVERSATION_RATE: integer({ min: 1, max: 1_000 })
    .default(5)
    .describe('How many of their messages are posted a second'),
  REPLAYED: integer({ min: 10, max: 10_000 }).default(1_000).describe('Dead messages that are run again'),
})
const sizes = parseConfig(size, process.env)
const say = (line: string) => console.error(line)

interface Part {
  dispatchers: number
  lastRestartDelayMs?: number
  run(own: Awaited<ReturnType<typeof startOwnSystem>>): Promise<{ table: string; passed: boolean }>
}

const PARTS: Record<string, Part> = {
  kills: {
    dispatchers: 2,
    async run(own) {
      const result = await runWithKills({ own, messages: sizes.MESSAGES, rate: sizes.RATE, say })
      return { table: killTable(result), passed: result.passed }
    },
  },
  agents: {
    dispatchers: 3,
    lastRestartDelayMs: 200,
    async run(own) {
      const { CONVERSATIONS: conversations, CONVERSATION_RATE: rate } = sizes
      const result = await runAgents({ own, conversations, rate, say })
      return { table: agentsTable(result), passed: result.passed }
    },
  },
  'send-rate': {
    dispatchers: 4,
    async run(own) {
      const result = await runSendRate({ own, messages: sizes.GOVERNED, say })
      return { table: sendRateTable(result), passed: result.passed }
    },
  },
  replay: {
    dispatchers: 2,
    async run(own) {
      const result = await runReplay({ own, messages: sizes.REPLAYED, say })
      return { table: replayTable(result), passed: result.passed }
    },
  },
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !(name in PARTS))
if (unknown.length > 0) throw new ConfigError(`There are ${Object.keys(PARTS).join(', ')}; not ${unknown}`)
for (const [name, part] of Object.entries(PARTS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const own = await startOwnSystem({
    instances: { dispatcher: part.dispatchers },
    say,
    ...defined({ lastRestartDelayMs: part.lastRestartDelayMs }),
  })
  try {
    const { table, passed } = await part.run(own)
    console.log(table)
    if (!passed) process.exitCode = 1
  } finally {
    await own.stop()
  }
}
