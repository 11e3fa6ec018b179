// The promises of dispatchers: messages and conversations while processes are killed, a number at its rate, replays.
//   npm run test:dispatch                one part after the other
//   npm run test:dispatch -- agents      only those named: kills, agents, send-rate, replay
import { ConfigError, integer, parseConfig } from '@parley/shared/config'
import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import type { ScenarioResult } from '../report/table.ts'
import { type OwnSystem, startOwnSystem } from '../system/own-system.ts'
import { runAgents } from './agents.ts'
import { runWithKills } from './kills.ts'
import { runReplay } from './replay.ts'
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
  run(own: OwnSystem): Promise<ScenarioResult>
}

const PARTS: Record<string, Part> = {
  kills: {
    dispatchers: 2,
    run: (own) => runWithKills({ own, messages: sizes.MESSAGES, rate: sizes.RATE, say }),
  },
  agents: {
    dispatchers: 3,
    lastRestartDelayMs: 200,
    run: (own) => runAgents({ own, conversations: sizes.CONVERSATIONS, rate: sizes.CONVERSATION_RATE, say }),
  },
  'send-rate': { dispatchers: 4, run: (own) => runSendRate({ own, messages: sizes.GOVERNED, say }) },
  replay: { dispatchers: 2, run: (own) => runReplay({ own, messages: sizes.REPLAYED, say }) },
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !(name in PARTS))
if (unknown.length > 0) throw new ConfigError(`There are ${Object.keys(PARTS).join(', ')}; not ${unknown}`)
for (const [name, { dispatchers, lastRestartDelayMs, run }] of Object.entries(PARTS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const restarts = defined({ lastRestartDelayMs })
  const own = await startOwnSystem({ instances: { dispatcher: dispatchers }, say, ...restarts })
  try {
    const { table, passed } = await run(own)
    console.log(table)
    if (!passed) process.exitCode = 1
  } finally {
    await own.stop()
  }
}
